"""What an engine answers when it cannot answer."""


class Failed(Exception):
    """The text of the engine's error; the engine itself can be asked again."""
