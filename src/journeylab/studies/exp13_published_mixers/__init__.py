"""exp13: published sequence mechanisms and journeys on state tracking, recall and length."""
