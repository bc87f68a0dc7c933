"""Exodus II files."""
