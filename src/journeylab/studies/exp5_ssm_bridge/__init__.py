"""exp5 · SSM bridge (prop:ssm-bridge): one fixed operator makes the journey a linear recurrence."""
