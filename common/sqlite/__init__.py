"""Small SQLite files whose damage is found, set aside and outlived."""
