"""Pages of servers, tools, the graph and live sessions."""
