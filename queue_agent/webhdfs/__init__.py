"""A WebHDFS face of Cypress: what stock Hadoop clients, Spark above all, need to keep files in a cluster."""
