"""What all servers of a world share: people, places, texts and records."""
