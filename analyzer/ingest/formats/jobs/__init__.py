"""Status files of jobs, containers and workers."""
