"""Event logs of finished applications: figures, requests, and times on other clusters."""
