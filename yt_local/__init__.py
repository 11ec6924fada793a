"""An embedded YTsaurus look-alike for development and tests."""
