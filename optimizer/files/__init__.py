"""Reading files from outside: YAML with the place of every key, and where the shipped data lies.

`read_yaml(path)` gives a `Document`: plain data plus `locate(keys)`, so that any room above can say
`file:line:col` about what it read. `validate(Model, document)` gives the pydantic model. Everything that
cannot be read is an `InputError` with its remedy.
"""

from optimizer.files.document import Document, Keys, alike, dotted, shortened
from optimizer.files.reader import open_regular, read_text, read_text_yaml, read_yaml, shown
from optimizer.files.shipped import data_path, resolve_trace, resolve_workload
from optimizer.files.validation import validate

__all__ = [
    "Document", "Keys", "alike", "data_path", "dotted", "open_regular", "read_text", "read_text_yaml",
    "read_yaml", "resolve_trace", "resolve_workload", "shortened", "shown", "validate",
]
