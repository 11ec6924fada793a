"""Who may do what over HTTP: logins, previews of acts, and what an act is."""
