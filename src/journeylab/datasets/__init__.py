"""Datasets that several studies use."""
