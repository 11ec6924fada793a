"""The latest of everything, for those who ask and for the history."""
