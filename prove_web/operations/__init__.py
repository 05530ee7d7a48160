"""What whoever runs a site needs: health, measurements, logs, backups, and its programs one by one."""
