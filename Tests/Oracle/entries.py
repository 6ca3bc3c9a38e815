"""What the model knows of one entity, and choices between readings of the documents."""
from collections import namedtuple

# A row (None: a tombstone) and its instant, known to lie between two times in microseconds after 1970. `origin` names the edit.
Entry = namedtuple("Entry", "row lo hi origin")
LIMIT = 64


class TooOpen(Exception):
    """More worlds than are worth following."""


class Contradiction(Exception):
    """The answers contradict one another: no order of the instants is as they say."""


class Chooser:
    """Answers questions that have several answers: first as it is told, then with the first answer of each; `made` has what was answered."""

    def __init__(self, told, clock=0):
        self.told, self.made, self.clock, self.known = told, [], clock, {}

    def choose(self, count):
        index = len(self.made)
        answer = self.told[index] if index < len(self.told) else 0
        self.made.append((answer, count))
        return answer

    def later(self, one, other):
        """Whether the first of two changes, each (place, entry), has the later instant; the same answer whenever it is asked."""
        if one[1].lo > other[1].hi:
            return True
        if other[1].lo > one[1].hi:
            return False
        pair = (one, other)
        if pair not in self.known:
            answer = self.choose(2) == 0
            self.known[pair], self.known[(other, one)] = answer, not answer
        return self.known[pair]


def explore(action, clock=0):
    """All that an action leads to: it is run with a chooser again and again, until every answer was given."""
    results, waiting = [], [[]]
    while waiting:
        told = waiting.pop()
        chooser = Chooser(told, clock)
        try:
            result = action(chooser)
        except Contradiction:
            result = None
        if result is not None:
            results.append(result)
        answers = [answer for answer, _ in chooser.made]
        for index in range(len(told), len(chooser.made)):
            waiting += [answers[:index] + [other] for other in range(1, chooser.made[index][1])]
        if len(results) > LIMIT:
            raise TooOpen()
    return results
