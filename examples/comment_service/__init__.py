"""A web service that keeps trees of comments in dynamic tables; see its README."""
