"""Datasets that more than one study reads."""
