"""EnSight Gold cases."""
