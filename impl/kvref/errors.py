"""What can go wrong, one exception class per situation.

Knows: the situations a caller may want to tell apart.
Must not know: blocks, sequences, or how anything is computed.
"""

# A name says the situation, as `StopIteration` does; an `Error` suffix would add length and no meaning.


class BlockManagerError(Exception):
    """Base of every exception this package raises on purpose.

    Whoever catches it may rely on one thing: the operation that raised it changed nothing.
    """


class InvalidConfig(BlockManagerError):
    """A pool or manager was asked for with impossible sizes (block size 0, a negative pool)."""


class InvalidRequest(BlockManagerError):
    """An argument is outside its range: negative lookahead, zero tokens, an empty group, no such block."""


class OutOfBlocks(BlockManagerError):
    """The device has fewer free blocks than the operation takes. Ask the guard first to avoid it."""


class DuplicateSequence(BlockManagerError):
    """A sequence id is used a second time while its first bearer is live, or twice in one call."""


class DuplicateGroup(BlockManagerError):
    """A group id is admitted a second time while the first group has live sequences."""


class UnknownSequence(BlockManagerError):
    """The sequence was never admitted or, where a live one is needed, has ended."""


class UnknownGroup(BlockManagerError):
    """No live sequence belongs to this group."""


class WrongStatus(BlockManagerError):
    """The sequence or group is live, but not in the status that the operation works on."""


class BlockNotHeld(BlockManagerError):
    """A free block was to be shared: nobody holds it, so its content is nobody's."""


class DoubleFree(BlockManagerError):
    """A block was released that has no owner left."""


class BrokenInvariant(BlockManagerError):
    """`BlockManager.check` found the books wrong: a defect in the manager, never in its caller."""
