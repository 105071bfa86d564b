"""Files that are not console logs, one room for each family of formats."""
