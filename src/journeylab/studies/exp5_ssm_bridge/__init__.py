"""exp5 · SSM bridge (prop:ssm-bridge): a journey with one fixed operator is a linear recurrence."""
