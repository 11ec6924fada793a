"""The same random commands over HTTP and over the C++ driver, to two clusters with the same history."""
