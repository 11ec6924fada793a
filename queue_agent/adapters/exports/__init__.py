"""Static exports over HTTP."""
