"""A writer and its readers: docs/messages.md. What a reader's changes become as messages, who wins at the writer, and how an answer ends them."""
import model
from entries import Entry, explore
from mail import ANY, Mail, Message
from settle import Settlement
def base_row(world, name, place):
    entry = model.base(world, name).get(place)
    return entry.row if entry else None


# MARK: the reader

def import_reader(world, name, now):
    world = forgotten(corrected(world, name, now), name)
    if world.devices[name].version == world.number or world.number == 0:
        return [world]
    return model.distinct(explore(lambda chooser: imported(world.copy(), name, chooser), now))


def forgotten(world, name):
    """A row that was made and deleted between two syncs leaves nothing behind: another device's row of that key is taken as it is."""
    base, told = model.base(world, name), {message.place for message in world.devices[name].pending}
    mail = Mail(world.schema)

    def is_gone(place):
        """In a table of which no message carries anything, a deletion ends also where the version has deleted the row."""
        policy = mail.policy(place)
        return place not in base or (base[place].row is None and not policy.rows and not policy.delete and not mail.columns(place))
    gone = {place for place in world.devices[name].tracked if world.devices[name].know[place].row is None and is_gone(place) and place not in told}
    if not gone:
        return world
    world = world.copy()
    if world.pruned:
        # Without the version, such a row is known only where a timestamp or messages about single columns need it.
        world.open = world.open | {place for place in gone if mail.stamp(place) is None and not mail.columns(place)}
    device = world.devices[name]
    device.tracked = device.tracked - gone
    device.know = {place: entry for place, entry in device.know.items() if place not in gone}
    return world


def corrected(world, name, now):
    """What was told keeps its instant."""
    device = world.devices[name]
    told = {message.place: message.entry for message in device.pending}
    held = {place for place in device.tracked if told.get(place) == device.know[place] or (place, device.know[place]) in device.marks}
    silent = {place for place, entry in device.silent if device.know.get(place) == entry}
    if not held and not silent:
        return model.corrected(world, name, now)
    all_tracked = device.tracked
    after = world.copy()
    after.devices[name].tracked = all_tracked - held
    after = model.corrected(after, name, now).copy()
    device = after.devices[name]
    device.tracked = all_tracked
    # A refused change is not edited by that: it stays refused.
    device.silent = frozenset((place, device.know[place] if place in silent else entry) for place, entry in device.silent)
    return after


def imported(world, name, chooser):
    mail, device = Mail(world.schema), world.devices[name]
    before, know, tracked, lost, based = device.copy(), {}, set(), set(), dict(device.based)
    answered = {message for message in device.pending if message.id in world.answered}
    device.pending = tuple(message for message in device.pending if message not in answered)
    over = {message.place: message for message in answered if device.know.get(message.place) == message.entry and message.place not in partly(device)}
    old, told = model.base(world, name), before.pending
    for place in device.tracked:
        mine = device.know[place]
        is_new = base_row(world, name, place) is None or told_gone(told, place)
        if mail.columns(place) and mine.row is not None and is_new and all(one.entry != mine for one in told):
            # No message adds a row. What is edited in it later counts from here.
            device.silent, device.whole = device.silent | {(place, mine)}, device.whole | {place}
            based[place] = mail.values(place, mine.row)
    for place in sorted(set(device.know) | set(world.head), key=repr):
        mine, theirs = device.know.get(place), world.head.get(place)
        if place in device.tracked and place in over and stays_refused(world, over[place], theirs, chooser):
            # A refused change that the version does not overrule.
            kept = mine
            tracked.add(place)
            device.silent = device.silent | {(place, mine)}
        elif place not in device.tracked or place in over:
            kept = theirs
        elif theirs is None:
            kept = mine
            tracked.add(place)
        elif device.latched:
            kept = theirs
        elif theirs == old.get(place):
            kept = mine
            if world.pruned and mail.columns(place) and mine.row is not None and theirs.row is not None and all(one.entry != mine for one in told):
                # What a patch was made on is not known any longer; then the later change wins, at the publisher, too.
                world.open = world.open | {place}
            if place not in device.whole and mail.is_patch(place, theirs.row, mine.row):
                kept = mine._replace(row=mail.patched(place, mine.row, {}))
                device.pending = tuple(message._replace(entry=kept) if message.entry == mine else message for message in device.pending)
                device.silent = frozenset((other, kept if entry == mine else entry) for other, entry in device.silent)
            tracked.add(place)
        else:
            seen = based[place] if place in based else seen_values(mail, place, mine, told, old.get(place))
            if place in device.wide and mine.row is not None and mail.is_patch(place, base_row(world, name, place), mine.row):
                # Whether a row that is as it was but for a patch, or altogether, was changed is not known.
                world.open = world.open | {place}
            if world.pruned and seen is not None and mine.row is not None and all(one.entry != mine for one in told):
                # What a patch was made on is not known any longer; then the later change wins.
                world.open = world.open | {place}
            kept, still = met(world, name, place, mine, theirs, mail, chooser, old.get(place), seen)
            if world.pruned and not still and mine.row is not None and theirs.row is None and mail.columns(place) and all(one.entry != mine for one in told) \
                    and wins(chooser, mine, theirs) and chooser.choose(2) == 1:
                # Without the version that it was made on, a patch cannot be told from a row that was added here.
                kept, still = mine, True
                device.silent, device.whole = device.silent | {(place, mine)}, device.whole | {place}
            if still:
                tracked.add(place)
                if kept is mine and mine.row is not None and theirs.row is not None and mail.columns(place):
                    # It stays as a whole row, which differs from the version also where the publisher changed it: that is no patch.
                    device.whole = device.whole | {place}
                if seen is not None and all(message.entry != mine for message in told):
                    # What was not changed here is now what the version has.
                    taken = kept.row is not None and mine.row is not None and kept.row != mine.row
                    based[place] = {index: kept.row[index] if taken and mine.row[index] == value else value for index, value in seen.items()}
            elif place not in world.open and mine.row != theirs.row and not mail.is_patch(place, base_row(world, name, place), mine.row) and ANY not in (mine.row or ()) + (theirs.row or ()):
                lost.add((name, place, mine.row, theirs.row))
        if kept is not None:
            know[place] = kept
    for place in tracked:
        if takes_a_value(world, know, place, mail):
            # Whether a patch is shown depends on which of them comes first: the value may be another row's of the version, also one that gives it away here.
            world.open = world.open | {place}
    device.know, device.tracked, device.whole, device.wide = know, frozenset(tracked), device.whole & frozenset(tracked), device.wide & frozenset(tracked)
    device.based = {place: seen for place, seen in based.items() if place in tracked}
    settlement = Settlement(world, name, chooser, before, version_first=True, reader=True)
    settlement.fight()
    settlement.settle()
    settlement.finish()
    # A row that comes back is an edit like any other, also if it was refused before.
    back = set(before.aside) - set(device.aside)
    device.silent = frozenset((place, entry) for place, entry in device.silent if place not in back)
    for place in device.tracked:
        if isinstance(device.know[place].origin, tuple) and device.know[place].origin[0] == "revived":
            # Whether it is told, and what then becomes of the deletion, is not said.
            world.open = world.open | {place}
    device.version, device.latched = world.number, False
    if lost:
        world.lost = world.lost | lost
        world.note("lost edit")
    return world


def takes_a_value(world, know, place, mail):
    """Whether a reader's row has in a column that it may change by itself a UNIQUE value of another row of the version's."""
    row = know[place].row if know.get(place) else None
    table = world.schema.table(place[0])
    columns = set(mail.columns(place)) & {table.position(name) for name in table.unique()}
    return row is not None and any(
        other != place and other[0] == place[0] and entry.row is not None and any(row[column] is not None and row[column] == entry.row[column] for column in columns)
        for other, entry in world.head.items())


def stays_refused(world, message, theirs, chooser):
    """Whether a refused change stays at its reader: a deletion is taken back, and a patch of a row that is gone goes, too."""
    if world.answers[message.id] != "refused" or message.kind == "deleted":
        return False
    if theirs is None or (message.kind == "patch" and theirs.row is None):
        return message.kind != "patch"
    return wins(chooser, message.entry, theirs)


def seen_values(mail, place, mine, told, old):
    """The values that a patch was made on: an earlier patch's, if one was told; None where the version has no row."""
    if not mail.columns(place) or old is None or old.row is None:
        return None
    seen = mail.values(place, old.row)
    for message in told:
        if message.place == place and message.kind == "patch":
            if message.entry == mine:
                return seen | dict(message.based)
            seen = seen | {index: message.entry.row[index] for index, _ in message.based}
    return seen


def met(world, name, place, mine, theirs, mail, chooser, old, seen):
    """A reader's change and another state of the version: what is shown, and whether the change goes on."""
    if theirs is None:
        return mine, True
    if place in partly(world.devices[name]) and theirs.origin == mine.origin and (theirs.lo, theirs.hi) == (mine.lo, mine.hi):
        # The version has the change's own patch, and so its instant. What the patch left here is as late, and stays.
        return mine, True
    policy = mail.policy(place)
    if mine.row is None and theirs.row is None and not policy.rows and not policy.delete:
        # No message carries the deletion, and the version has it now.
        return theirs, False
    if old is not None and place not in world.devices[name].whole and mail.is_patch(place, old.row, mine.row):
        if theirs.row is None:
            return theirs, False
        # Earlier patches that wait for an answer come first: this one was made on top of them.
        waiting = [(message.entry, message.based) for message in world.devices[name].pending
                   if message.place == place and message.kind == "patch" and message.entry != mine]
        kept = theirs
        for entry, based in waiting + [(mine, mail.changed(place, mine.row, seen))]:
            new = {index: entry.row[index] for index, _ in based}
            if entry is not mine and all(kept.row[index] == value for index, value in new.items()):
                continue
            if unchanged(kept.row, new, based) or wins(chooser, entry, kept):
                kept = Entry(mail.patched(place, kept.row, new), max(entry.lo, kept.lo), max(entry.hi, kept.hi), entry.origin)
        return kept, kept is not theirs
    if wins(chooser, mine, theirs):
        return mine, True
    device = world.devices[name]
    if seen is not None and (place not in device.whole or place in device.based) and mine.row is not None and theirs.row is not None and all(
            message.entry != mine for message in device.pending):
        # What a message carries of the change goes on alone.
        based = tuple((index, seen[index]) for index in seen if mine.row[index] != seen[index])
        new = {index: mine.row[index] for index, _ in based}
        if any(theirs.row[index] != value for index, value in new.items()) and unchanged(theirs.row, new, based):
            return Entry(mail.patched(place, theirs.row, new), max(mine.lo, theirs.lo), max(mine.hi, theirs.hi), mine.origin), True
    return theirs, False


def unchanged(row, new, based):
    """Whether each column of a patch is what the reader saw there, or what the patch sets already."""
    return all(row[index] is ANY or row[index] == value or row[index] == new[index] for index, value in based)


def wins(chooser, mine, theirs):
    answers = sorted(model.compare(mine, theirs))
    return answers[chooser.choose(len(answers)) if len(answers) > 1 else 0] > 0


def tell(world, name, held=frozenset()):
    """Puts what was changed here and not told yet into the mailbox, but for the places `held`. A patch that says what the version says may be left out."""
    mail, device = Mail(world.schema), world.devices[name]
    told, published = {message.place for message in device.pending}, model.base(world, name)
    needless = {place for place in device.tracked - device.whole if mail.columns(place) and place not in told and place in published
                and mail.is_patch(place, published[place].row, device.know[place].row)
                and mail.values(place, published[place].row) == mail.values(place, device.know[place].row)}
    # A patch that was made before the version came in that deleted the row is written before the import, and told.
    earlier = any(place in device.based and place in device.whole and not (place in published and published[place].row) for place in device.tracked)
    if not needless:
        return [sent(world, name, held)] + ([sent(world, name, held, early=True)] if earlier else [])
    without = world.copy()
    device = without.devices[name]
    device.tracked, device.know = device.tracked - needless, device.know | {place: published[place] for place in needless}
    # Of a table with several such columns it is not known which one was reverted. What is not told stays here until something later comes.
    without.open = without.open | {place for place in needless if len(mail.columns(place)) > 1}
    return [sent(one, name, held, early) for one in (world, without) for early in {False, earlier}]


def sent(world, name, held, early=False):
    mail, world = Mail(world.schema), world.copy()
    device = world.devices[name]
    told = {message.place: message.entry for message in device.pending}
    for place in sorted(device.tracked, key=lambda place: in_order(device.know[place])):
        entry, old, policy = device.know[place], model.base(world, name).get(place), mail.policy(place)
        if told.get(place) == entry or (place, entry) in device.silent or place in held:
            continue
        seen = device.based[place] if place in device.based else seen_values(mail, place, None, device.pending, old)
        if policy.rows:
            mailed(world, name, "deleted" if entry.row is None else "row", place, entry, None)
        elif entry.row is None and policy.delete:
            mailed(world, name, "deleted", place, entry, None)
        elif entry.row is not None and place not in device.whole and not told_gone(device.pending, place) and mail.is_patch(place, old.row if old else None, entry.row):
            based = mail.changed(place, entry.row, seen)
            if not based:
                device.silent = device.silent | {(place, entry)}
                world.open = world.open | {place}
                continue
            # The message is about the version that the patch was made on.
            device.based = {other: values for other, values in device.based.items() if other != place}
            # The timestamp that goes with a patch is the message's.
            entry = entry._replace(row=mail.patched(place, entry.row, {}))
            device.know = device.know | {place: entry}
            mailed(world, name, "patch", place, entry, based)
        else:
            # Also of a row that the version no longer has: the publisher refuses it, and that is told.
            known = seen if (old is not None and old.row is not None) or (place in device.based and (early or place not in device.whole)) else None
            silence(world, name, mail, place, entry, known)
            continue
        if place in told:
            world.note("message after message")
    return world


def told_gone(told, place):
    """Whether the last message about a row deleted it: a row that is there again is another one, and no patch of the version's."""
    kinds = [message.kind for message in told if message.place == place]
    return bool(kinds) and kinds[-1] == "deleted"


def silence(world, name, mail, place, entry, seen):
    """What no message carries stays; a patch that was made with it travels alone."""
    device = world.devices[name]
    device.silent = device.silent | {(place, entry)}
    world.note("no message carries it")
    if entry.row is not None and mail.columns(place):
        # A later patch is of what is changed from here on, whatever version comes in meanwhile.
        device.based, device.whole = device.based | {place: mail.values(place, entry.row)}, device.whole | {place}
    if entry.row is None or seen is None:
        return
    based = tuple((index, seen[index]) for index in seen if entry.row[index] != seen[index])
    if world.schema.built_in or based:
        world.open = world.open | {place}
    if based:
        device.marks = device.marks | {(place, entry)}
        mailed(world, name, "patch", place, entry, based)


def mailed(world, name, kind, place, entry, based):
    """Puts a message into the mailbox."""
    world.sent += 1
    message = Message(world.sent, name, kind, place, entry, based)
    world.devices[name].pending += (message,)
    world.mail += (message,)
    world.note("message " + kind)


def partly(device):
    """The places whose change is more than the mark that was sent."""
    return {place for place, entry in device.silent if device.know.get(place) == entry}


def in_order(entry):
    """Changes are told in the order in which they were made."""
    step, index = entry.origin[:2] if isinstance(entry.origin, tuple) and isinstance(entry.origin[1], int) else (0, 0)
    return (step if isinstance(step, int) else 1_000_000, index)


# MARK: the writer

def apply_mail(world, name, now):
    """Applies or refuses every message that lies in the mailbox."""
    if not world.mail:
        return [world]
    return model.distinct(explore(lambda chooser: applied(world.copy(), name, now, chooser), now))


def applied(world, name, now, chooser):
    mail, device = Mail(world.schema), world.devices[name]
    know, tracked, published = dict(device.know), set(device.tracked), model.base(world, name)
    answers, waiting, left = dict(world.answers), [], swapped(in_order_of_application(world, mail), chooser)
    left, deletions = [one for one in left if not is_last(mail, one)], [one for one in left if is_last(mail, one)]
    while left or deletions:
        blocked = []
        for message in left:
            place, entry, mine = message.place, message.entry, know.get(message.place)
            if is_beside_open(world, know, message):
                world.open = world.open | {place}
            if message.id < world.applied.get((message.sender, place), 0):
                # What its sender did with the entity later has been applied.
                row, answer = None, "refused"
            else:
                row, answer = decide(world, know, message, mine, mail, chooser)
            if answer in ("taken", "dangling"):
                blocked.append((message, answer))
                continue
            answers[message.id] = answer
            world.note("message " + answer)
            if answer != "applied":
                continue
            world.applied = world.applied | {(message.sender, place): message.id}
            if entry.hi > now + 1000:
                # Its change gets the writer's clock, so that what meets it later is decided by another time than the reader's.
                world.open = opened(world, place, mine)
            lo, hi = model.later(min(entry.lo, now), min(entry.hi, now), published.get(place))
            if message.kind == "patch" and mine is not None:
                lo, hi = max(lo, mine.lo), max(hi, mine.hi + 1)
            elif mine is not None and place in tracked:
                hi = max(hi, mine.hi + 1)
            know[place] = Entry(row, lo, hi, entry.origin)
            tracked.add(place)
        if len(blocked) == len(left) and deletions:
            # What had to wait for another message is tried again before the deletions.
            left, deletions = [message for message, _ in blocked] + deletions, []
            continue
        if len(blocked) == len(left):
            for message, why in blocked:
                if why == "dangling" and waits(message, now, chooser):
                    waiting.append(message)
                    world.note("message waits")
                else:
                    answers[message.id] = "refused"
                    world.note("message refused by the table")
            break
        left = [message for message, _ in blocked]
    world.unpublished = world.unpublished or answers != world.answers
    world.mail, world.answers = tuple(message for message in world.mail if message in waiting), answers
    device.know, device.tracked = know, frozenset(tracked)
    return world


def waits(message, now, chooser):
    """Whether a message about a child waits for its parent: for a day after the change."""
    day = now - 24 * 3600 * 1_000_000
    return message.entry.lo > day or (message.entry.hi > day and chooser.choose(2) == 0)


def is_beside_open(world, know, message):
    """Whether a message depends on a row that is open: its parent may be missing, or a row that refers to it may be there."""
    if not world.open:
        return False
    if message.entry.row is not None:
        return world.schema.parent_of(world.schema.table(message.place[0]), message.entry.row) in world.open
    return any(other in world.open and entry.row is not None and world.schema.parent_of(world.schema.table(other[0]), entry.row) == message.place
               for other, entry in know.items())


def opened(world, place, entry):
    """A place of which the documents leave the outcome open; and the parent of a row, for it may have to come back."""
    parent = world.schema.parent_of(world.schema.table(place[0]), entry.row) if entry is not None and entry.row is not None else None
    return world.open | {place} | ({parent} if parent else set())


def is_last(mail, message):
    """Whether a message deletes a row that rows of other messages may refer to."""
    return message.kind == "deleted" and mail.policy(message.place).rows


def in_order_of_application(world, mail):
    """By their instants; deletions of rows come last, children before parents, but not those in a table of which readers edit columns."""
    tables = [table.name for table in world.schema.tables]

    def turn(message):
        return (1, -tables.index(message.place[0]), message.entry.lo) if is_last(mail, message) else (0, 0, message.entry.lo)
    return sorted(world.mail, key=turn)


def swapped(messages, chooser):
    """Two readers' messages about one entity that may have one instant are applied in any order."""
    messages = list(messages)
    for index in range(len(messages) - 1):
        one, other = messages[index:index + 2]
        if one.place == other.place and one.sender != other.sender and other.entry.lo <= one.entry.hi and chooser.choose(2):
            messages[index:index + 2] = other, one
    return messages


def decide(world, know, message, mine, mail, chooser):
    """The row that a message leads to, and whether it is applied, refused, or not possible yet: a value is taken, a parent is missing."""
    if message.kind == "patch":
        if mine is None or mine.row is None:
            return None, "refused"
        if not unchanged(mine.row, {index: message.entry.row[index] for index, _ in message.based}, message.based) and not wins(chooser, message.entry, mine):
            return None, "refused"
        row = mail.patched(message.place, mine.row, {index: message.entry.row[index] for index, _ in message.based})
    else:
        if mine is not None and not wins(chooser, message.entry, mine):
            return None, "refused"
        row = message.entry.row
    if row is None:
        return None, "taken" if mine is not None and mine.row is not None and is_referred_to(world.schema, know, message.place) else "applied"
    return row, obstacle(world.schema, know, message.place, mine.row if mine is not None else None, row) or "applied"


def is_referred_to(schema, know, place):
    return any(other != place and entry.row is not None and schema.parent_of(schema.table(other[0]), entry.row) == place for other, entry in know.items())


def obstacle(schema, know, place, before, row):
    """Why a table does not take a row yet; None if it does."""
    table = schema.table(place[0])
    columns = [table.position(name) for name in table.unique()]
    for other, entry in know.items():
        if other[0] == place[0] and other != place and entry.row is not None and any(
                row[column] is not None and row[column] == entry.row[column] for column in columns):
            return "taken"

    def dangles(values):
        parent = schema.parent_of(table, values)
        return parent is not None and parent != place and (know.get(parent) is None or know[parent].row is None)
    return "dangling" if dangles(row) and not (before is not None and dangles(before)) else None


def publish_writer(world, name):
    """Publishes what is tracked, and the answers."""
    result = model.announce(world, name, world.unpublished)
    for after in result:
        after.unpublished, after.answered = False, frozenset(after.answers)
    return result

