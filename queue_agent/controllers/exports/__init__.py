"""Static exports: tasks, and when they run."""
