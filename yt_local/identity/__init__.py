"""Who is who: users, groups, tokens, and who a request is from."""
