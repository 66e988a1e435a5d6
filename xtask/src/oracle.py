"""Runs the statements that come as JSON strings, one a line, and answers each with a JSON object."""
import json
import sys

from chdb import session

database = session.Session()
for line in sys.stdin:
    try:
        text = database.query(json.loads(line), "TabSeparated").bytes().decode(errors="replace")
        rows = text.split("\n")
        # Rows end with a line feed; what is behind the last one is no row.
        answer = {"rows": rows[:-1] if rows[-1] == "" else rows}
    except Exception as error:
        answer = {"error": str(error)}
    print(json.dumps(answer), flush=True)
