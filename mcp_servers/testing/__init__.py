"""What a tester of servers needs: directed random walks, and the behaviour certificate that they make."""
