"""Tecplot text files."""
