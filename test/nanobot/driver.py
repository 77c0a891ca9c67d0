"""Speaks for an installed nanobot: one JSON request a line on stdin, one JSON answer a line on stdout.

Every request names its workspace. Sessions are read anew each time, as after a restart. Rows and metadata are answered
as the text Python prints for them, so that nothing is lost on the way to whoever compares.
"""

import json
import sys
from datetime import datetime
from pathlib import Path

from nanobot.session.manager import SessionManager


def text(value):
    return json.dumps(value, ensure_ascii=False)


class Driver:
    def __init__(self, workspace):
        self.manager = SessionManager(Path(workspace))

    def do_load(self, key):
        return snapshot(self.fresh(key))

    def do_save(self, key):
        """Writes back what was read, unchanged."""
        session = self.fresh(key)
        self.manager.save(session)
        return snapshot(session)

    def do_turn(self, key, steps):
        session = self.fresh(key)
        for step in steps:
            take(session, step)
        self.manager.save(session)
        return snapshot(session)

    def do_history(self, key, max):
        session = self.fresh(key)
        entries = session.get_history() if max is None else session.get_history(max)
        return [text(entry) for entry in entries]

    def do_list(self):
        return [{"key": entry["key"], "file": Path(entry["path"]).name} for entry in self.manager.list_sessions()]

    def do_checkpoint(self, key, checkpoint):
        """Stops in the middle of a turn: what a program that dies then leaves behind."""
        session = self.fresh(key)
        self.loop()._set_runtime_checkpoint(session, checkpoint)
        return snapshot(session)

    def do_resume(self, key):
        """What a turn begins with: settling what an interrupted one has left."""
        session = self.fresh(key)
        loop = self.loop()
        resumed = [loop._restore_runtime_checkpoint(session), loop._restore_pending_user_turn(session)]
        return {"resumed": any(resumed), "session": snapshot(session)}

    def fresh(self, key):
        self.manager.invalidate(key)
        return self.manager.get_or_create(key)

    def loop(self):
        # Imported here because v0.1.4.post4 has nothing to resume, and needs far more packages for its loop.
        from nanobot.agent.loop import AgentLoop

        loop = AgentLoop.__new__(AgentLoop)
        loop.sessions = self.manager
        return loop


def take(session, step):
    kind = step["do"]
    if kind == "say":
        session.add_message(step["role"], step["content"], **step["extras"])
    elif kind == "rows":
        for row in step["rows"]:
            session.messages.append({**row, "timestamp": datetime.now().isoformat()})
        session.updated_at = datetime.now()
    elif kind == "set":
        *outer, last = step["path"]
        place = session.metadata
        for name in outer:
            if not isinstance(place.get(name), dict):
                place[name] = {}
            place = place[name]
        place[last] = step["value"]
    elif kind == "drop":
        session.metadata.pop(step["name"], None)
    elif kind == "cursor":
        session.last_consolidated = len(session.messages) * step["percent"] // 100
    elif kind == "clear":
        session.clear()
    else:
        raise ValueError(f"unknown step {kind}")


def snapshot(session):
    return {
        "key": session.key,
        "createdAt": session.created_at.isoformat(),
        "updatedAt": session.updated_at.isoformat(),
        "metadata": text(session.metadata),
        "lastConsolidated": text(session.last_consolidated),
        "rows": [text(row) for row in session.messages],
    }


def main():
    drivers = {}
    for line in sys.stdin.buffer:
        try:
            request = json.loads(line)
            workspace = request["workspace"]
            if workspace not in drivers:
                drivers[workspace] = Driver(workspace)
            act = getattr(drivers[workspace], "do_" + request["do"])
            answer = {"answer": act(**request["with"])}
        except Exception as error:
            answer = {"error": f"{type(error).__name__}: {error}"}
        # ASCII only: nothing in it can be mistaken for a line end.
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


main()
