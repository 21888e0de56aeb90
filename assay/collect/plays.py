"""Plays under way: what the seats of a world have read and written, and whom the world asks next.

Token ids are appended and never encoded again: a seat's tokens stay as they were sampled, and what the world says is
encoded once, by itself. Each seat has an answer of its own, an `Episode` of its role, in which the words of all others
are replies (`Origin.ENV`). Where the world replaces what a seat reads, its answer goes on in a segment with a context
of its own.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Self

import numpy as np

from assay.ask import Codec
from assay.collect.games import Game, Moment, barred, conversation, in_play, maker, opened, require_template
from assay.collect.hosts import HostedPlay, PlayLost, log_of, present
from assay.collect.spoken import (
    earned,
    going_on,
    in_words,
    last_turn,
    node_of,
    remembered,
    replied_node,
    replies_heard,
    turns_of,
)
from assay.collect.turns import ended_by_token, generate, text_of, without_stop
from assay.errors import AssayError, ConfigError, DataError
from assay.models import Models
from assay.rng import Key
from assay.tasks import task
from assay.types import Episode, Finish, Ids, Origin, Request, Segment, Verdict, changed
from assay.worlds import Act, Ask, Reply
from assay.worlds.faults import checked, replied

CUT = " [cut]"  # what stands behind the part of a reply that its limit leaves


@dataclass(frozen=True)
class Turn:
    """A request that is made now, and the answer that its tokens belong to."""

    now: Request
    first: Request  # the request with which the answer began
    game: Game | None = None  # None: nobody replies
    seat: str = ""
    before: tuple[Segment, ...] = ()  # of the answer, those that stand before the present context
    short: bool = False  # the turn has a limit of its own, below that of the answer
    lost: Verdict | None = None  # its play cannot begin: no token is asked for, and this is said of the answer


@dataclass(frozen=True)
class Acted:
    """What came of a turn: the answers that are complete with it, or the turn that the world asks for next."""

    complete: tuple[Episode, ...] = ()
    further: Turn | None = None
    waiting: Waiting | None = None  # a play apart has not replied yet


@dataclass(frozen=True)
class Waiting:
    """An act that a play apart was given, and its ticket."""

    game: Game
    seat: str
    act: Act
    ticket: int | None


class Plays:
    """The plays of a collection. Closed at its end, whichever way it ends.

    with Plays(codec, key, models) as plays:
        turns = plays.begin(requests)
        while turns:
            written = generate(models, [turn.now for turn in turns], key, codec)
            results = [plays.acted(turn, episode) for turn, episode in zip(turns, written)]
            turns = [result.further for result in results if result.further]
    """

    def __init__(self, codec: Codec, key: Key, models: Models, *, forks: bool = False, step: int | None = None) -> None:
        self.codec = codec
        self.key = key
        self.models = models
        self.forks = forks  # later requests may go on from within an answer
        self.how = present()
        self.waiting: list[Waiting] = []  # for replies of plays apart, where others need not wait for them
        self.log = log_of(self.how, step)
        self._order: dict[str, tuple[int, int]] = {}  # first request -> (turns of its play, when it was asked)
        self._open: dict[int, Game] = {}
        self._ahead: dict[str, HostedPlay] = {}  # by the request, those that begin and that nobody has asked yet
        self._moments: dict[str, Moment] = {}  # by the node of the turn behind which they are

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for game in list(self._open.values()):
            self._shut(game)
        for play in self._ahead.values():
            play.close()

    @property
    def free(self) -> bool:
        """Whether a slow reply of a play apart holds its own play alone."""
        return self.how.schedule == "free"

    def begin(self, requests: Sequence[Request]) -> list[Turn]:
        """A turn for each request, in the same order."""
        for request in requests:
            self._order.setdefault(request.id, (1, len(self._order)))
        for request in requests:
            self._begin_ahead(request)
        return [self._begun(request) if in_play(request) else Turn(request, request) for request in requests]

    def acted(self, turn: Turn, written: Episode) -> Acted:
        """What came of a turn in which this was written."""
        game = turn.game
        if turn.lost is not None:
            return Acted((Episode(turn.first, turn.first.prefix, "error", verdict=turn.lost),))
        if game is None:
            return Acted((written if turn.now is turn.first else changed(written, request=turn.first),))
        game.turns += 1
        answer = changed(written, request=turn.first, segments=(*turn.before, *written.segments))
        game.seats[turn.seat] = answer
        if written.finish == "error":
            return self._lost(game, written.verdict)
        if written.finish == "pause":  # it halts for a part that continues it, and nobody has acted yet
            self._shut(game)
            return Acted((in_words(answer, self.codec),))
        if written.finish == "length" and not turn.short:
            return self._over(game, turn.seat, "length")
        act = self._act(game, turn.seat, answer, written.finish)
        most = turn.first.max_calls
        if most is not None and act.calls and replies_heard(answer) >= most:
            return self._over(game, turn.seat, "length")
        return self._replied(game, turn.seat, act)

    def heard(self, waiting: Waiting) -> Acted:
        """What comes of an act, now that its play apart has replied, or cannot."""
        game = waiting.game
        assert isinstance(game.play, HostedPlay)
        try:
            reply = checked(game.play.take(waiting.ticket))
        except PlayLost as error:
            reply = Reply(fault=str(error))
        if reply.fault:
            reply = game.again(waiting.act, reply)
        return self._told(game, waiting.seat, waiting.act, reply)

    def settled(self, *, wait: bool) -> list[Acted]:
        """What came of those acts that wait and have a reply. `wait`: until one has."""
        tickets = [each.ticket for each in self.waiting if each.ticket is not None]
        if wait and len(tickets) == len(self.waiting):
            self.how.hosts.wait_for_any(tickets)
        ready: list[Waiting] = []
        still: list[Waiting] = []
        for each in self.waiting:
            (ready if each.ticket is None or self.how.hosts.ready(each.ticket) else still).append(each)
        self.waiting = still
        return [self.heard(each) for each in ready]

    def so_far(self, turns: Sequence[Turn]) -> list[Episode]:
        """The answers in which these turns are the next, with what was read and written before."""
        return [in_words(turn.game.seats[turn.seat], self.codec) for turn in turns if turn.game is not None]

    def in_order(self, answers: Sequence[Episode]) -> list[Episode]:
        """The answers in the order in which rounds would have given them: by their turns, then as they were asked."""
        return sorted(answers, key=lambda answer: self._order[answer.request.id])

    # Beginnings

    def _begin_ahead(self, request: Request) -> None:
        """Lets the play of a request begin, if it runs apart: those of a round begin beside each other."""
        if request.prefix or not in_play(request):
            return
        world = task(request.problem.task).world
        if world is not None and world.apart:
            play = maker(world, request, self.key, self.how, self.log)((), None, False)
            assert isinstance(play, HostedPlay)
            play.ahead()
            self._ahead[request.id] = play

    def _begun(self, request: Request) -> Turn:
        """The first turn of an answer; one with a beginning goes on in the play that this beginning tells of."""
        world = task(request.problem.task).world
        assert world is not None
        world = world.spoken(request.problem.wording)
        if request.prefix and (moment := self._moments.get(replied_node(request.prefix))) is not None:
            game = self._forked(moment, request)
        else:
            make = maker(world, request, self.key, self.how, self.log)
            try:
                play, reply = opened(make, self._ahead.pop(request.id, None), once=bool(world.door))
            except PlayLost as error:
                return Turn(changed(request, max_new=0), request, lost=Verdict.invalid("world", str(error)))
            game = Game(world, request, make, play, barred(world, self.codec))
            self._enter(game)
            reply = self._replayed(game, request, reply)
            if reply is not None:
                return self._asked(game, request, reply) if not world.door else self._at_door(game, request, reply)
        answer = game.seats[request.seat] = Episode(request, request.prefix, "pause")
        replaced = any(segment.context is not None for segment in request.prefix)
        now, before = going_on(answer) if replaced else (request, ())
        return Turn(_keeping_from(now, game), request, game, request.seat, before)

    def _replayed(self, game: Game, request: Request, reply: Reply) -> Reply | None:
        """Takes the turns of a given beginning in a play that was opened with this reply. What the world asks first;
        None if it has replied within the beginning.
        """
        within = False
        for text, heard in turns_of(request.prefix, self.codec):
            act = game.world.act(request.seat, text, waits=True)
            reply, within = game.play.step(act), True
            game.acts += (act,)
            told_now = "" if reply.ask is None else game.world.written(reply.ask)
            if told_now != heard:
                raise AssayError(
                    f"the beginning of an answer to problem {request.problem.id} of '{request.problem.task}' has the "
                    f"reply {heard[:40]!r} behind {text[-40:]!r}, and the world replies {told_now[:40]!r}."
                )
        return None if within else reply

    def _asked(self, game: Game, request: Request, reply: Reply) -> Turn:
        """The first turn of a play that has just been opened."""
        ask = reply.ask
        if ask is None:
            raise AssayError(f"the world of '{request.problem.task}' ended before anybody acted.")
        game.seats[request.seat] = Episode(request, request.prefix, "pause")
        if ask.seat == request.seat and not ask.say and not ask.stops and ask.context == "append":
            turn = self._turn(game, ask, game.seats[request.seat])
            return turn if turn.short else dataclasses.replace(turn, now=_keeping_from(request, game))
        turn = self._heard(game, ask, failed=reply.failed)
        if turn is None:
            raise DataError(f"what the world of '{request.problem.task}' says first leaves no token for an answer.")
        return turn

    def _at_door(self, game: Game, request: Request, reply: Reply) -> Turn:
        """The same where a foreign program asks. What it asks may be too long, or what no template writes: then its
        play is lost, and others go on.
        """
        try:
            return self._asked(game, request, reply)
        except DataError as error:
            self._shut(game)
            return Turn(changed(request, max_new=0), request, lost=Verdict.invalid("world", str(error)))

    def _forked(self, moment: Moment, request: Request) -> Game:
        """A second play from a moment of a first one, for a request that goes on from there."""
        first, play = moment.game, moment.game.make(moment.acts, moment.saved, False)
        state = (moment.acts, first.turns, dict(moment.seats))
        game = Game(first.world, first.root, first.make, play, first.barred, *state)
        for name, other in game.seats.items():  # what another seat writes from here on is drawn anew
            game.seats[name] = changed(other, request=changed(other.request, sample=request.sample))
        self._enter(game)
        return game

    # Acts and replies

    def _act(self, game: Game, seat: str, answer: Episode, finish: Finish) -> Act:
        text, ended = last_turn(answer, self.codec)
        return game.world.act(seat, text, waits=not ended, finish=finish)

    def _replied(self, game: Game, seat: str, act: Act) -> Acted:
        """What the world's reply to an act makes of the play, if it has replied."""
        if isinstance(game.play, HostedPlay):
            return Acted(waiting=Waiting(game, seat, act, game.play.submit(act)))
        reply = replied(game.play, act)
        return self._told(game, seat, act, game.again(act, reply) if reply.fault else reply)

    def _told(self, game: Game, seat: str, act: Act, reply: Reply) -> Acted:
        """What a reply to an act makes of the play."""
        if fault := reply.fault or game.wrong(reply):
            return self._lost(game, Verdict.invalid("world", fault))
        game.acts += (act,)
        self._earn(game, reply)
        if reply.ask is None:
            return self._over(game, seat, "length" if reply.end == "limit" else "stop")
        waiting = game.seats[seat] = changed(game.seats[seat], finish="pause")
        try:
            turn = self._heard(game, reply.ask, failed=reply.failed)
        except DataError as error:
            if not game.world.door:
                raise
            return self._lost(game, Verdict.invalid("world", str(error)))
        if turn is None:
            return self._over(game, seat, "length")
        if self.forks:
            self._moments[node_of(waiting.segments)] = game.moment()
        if turn.first.halts:
            self._shut(game)
            return Acted((in_words(game.seats[turn.seat], self.codec),))
        return Acted(further=turn)

    def _heard(self, game: Game, ask: Ask, *, failed: bool) -> Turn | None:
        """The turn of the seat that is asked, which has read what is said to it; None if no token is left for it."""
        answer = game.seats.get(ask.seat)
        if answer is None:
            answer = self._seated(game, ask)
        elif ask.context == "replace":
            empty = Segment(np.zeros(0, np.int32), np.zeros(0, np.int8), context=conversation(game, ask, self.codec))
            answer = changed(answer, segments=(*answer.segments, empty))
        elif ask.say or ask.messages:
            heard = self._heard_by(game, answer.request, ask, failed)
            answer = changed(answer, segments=(*answer.segments, *self._recalled(game, answer), heard))
        turn = self._turn(game, ask, answer)
        if turn.now.max_new < 1:
            return None
        game.seats[ask.seat] = answer
        return turn

    def _heard_by(self, game: Game, request: Request, ask: Ask, failed: bool) -> Segment:
        """What is said to a seat, as tokens. A reply that is too long is cut, and says so."""
        ids = self._said(game, ask)
        if request.longest_reply and len(ids) > request.longest_reply:
            note = self.codec.encode(CUT)
            ids = np.concatenate([ids[: max(0, request.longest_reply - len(note))], note])
        return Segment(ids=ids, origin=np.full(len(ids), Origin.ENV, np.int8), failed=failed)

    def _recalled(self, game: Game, answer: Episode) -> tuple[Segment, ...]:
        """What takes the place of all that a seat has read, if it remembers but the beginnings of earlier replies. A
        reply within a chat template stays whole, because a part of it is no message.
        """
        most, speech = answer.request.recalled, game.world.speech
        if most is None or (speech is not None and speech.templated):
            return ()
        context = remembered(answer, most, self.codec.encode(CUT))
        return () if context is None else (Segment(np.zeros(0, np.int32), np.zeros(0, np.int8), context=context),)

    def _said(self, game: Game, ask: Ask) -> Ids:
        """What is said to a seat that has written before, by the chat template if calls are written in its way."""
        speech, answer = game.world.speech, game.seats[ask.seat]
        if ask.messages:
            codec, ended = require_template(self.codec, game), ended_by_token(answer, self.codec)
            return codec.following(ask.messages, tools=ask.tools or None, ended=ended)
        if speech is None or not speech.templated:
            return self.codec.encode(game.world.written(ask))
        codec, ended = require_template(self.codec, game), ended_by_token(answer, self.codec)
        return codec.heard([speech.write([line]) for line in game.world.lines(ask)], ended=ended)

    def _seated(self, game: Game, ask: Ask) -> Episode:
        """The empty answer of a seat that is asked for the first time. Answers of one seat form a group, as those of
        the first seat do.
        """
        root, seat = game.root, game.world.seat(ask.seat)
        if seat.role not in self.models.roles:
            raise ConfigError(
                f"the world of '{root.problem.task}' asks its seat '{seat.name}', for which the role '{seat.role}' "
                f"speaks, and here only {', '.join(self.models.roles)} speaks: take a seat whose role is one of these."
            )
        place = {"group": f"{root.group}/{seat.name}", "role": seat.role, "seat": seat.name, "worded": None}
        context = conversation(game, ask, self.codec)
        request = changed(root, context=context, train_context=None, prefix=(), **place)
        self._order.setdefault(request.id, self._order[root.id])
        return Episode(request, (), "pause")

    def _turn(self, game: Game, ask: Ask, answer: Episode) -> Turn:
        now, before = going_on(answer)
        read = len(now.context) + now.given
        left = min(now.max_new, self.models.play(now.role).context - read)
        most = left if ask.most is None else min(ask.most, left)
        stop = (*answer.request.stop, *ask.stops)
        if most != now.max_new or stop != now.stop:
            now = changed(now, max_new=most, stop=stop)
        return Turn(_keeping_from(now, game), answer.request, game, ask.seat, before, short=most < left)

    def _earn(self, game: Game, reply: Reply) -> None:
        """Gives the rewards of a reply to the last turns of the seats that they are for."""
        for name, value in reply.rewards.items():
            game.seats[name] = earned(game.seats[name], value)

    # Ends

    def _over(self, game: Game, seat: str, finish: Finish) -> Acted:
        """The play is over, with the verdicts that its world has."""
        verdicts = game.judged()
        if isinstance(verdicts, str):
            return self._lost(game, Verdict.invalid("world", verdicts))
        for name, answer in game.seats.items():
            game.seats[name] = changed(answer, finish=finish, verdict=verdicts.get(name, answer.verdict))
        return self._left(game, ended_by=seat if finish == "stop" else "")

    def _lost(self, game: Game, verdict: Verdict | None) -> Acted:
        """The answer of a play that an error of ours ended: no seat has a verdict."""
        for name, answer in game.seats.items():
            game.seats[name] = changed(answer, finish="error", verdict=verdict)
        return self._left(game)

    def _left(self, game: Game, *, ended_by: str = "") -> Acted:
        """The complete answers of a play: that of the first seat, then those of others that are trained. That of the
        seat which ended the play has no text that ends an answer.
        """
        self._shut(game)
        for name, answer in game.seats.items():
            told = last_turn(answer, self.codec)[0] if game.world.door else text_of(answer.segments, self.codec)
            game.seats[name] = whole = changed(answer, text=told)
            if name == ended_by:
                game.seats[name] = changed(whole, text=without_stop(whole, self.codec))
        first, *others = (seat.name for seat in game.world.seats)
        trained = [name for name in others if name in game.seats and game.world.seat(name).trains]
        answers = tuple(game.seats[name] for name in (first, *trained))
        _, asked = self._order[game.root.id]
        self._order |= {answer.request.id: (game.turns, asked) for answer in answers}
        return Acted(answers)

    def _enter(self, game: Game) -> None:
        self._open[id(game)] = game

    def _shut(self, game: Game) -> None:
        game.play.close()
        self._open.pop(id(game), None)


def _keeping_from(request: Request, game: Game) -> Request:
    """The request, in which a policy cannot draw the marks that only the world may write."""
    return changed(request, barred=game.barred) if game.barred else request


def played(models: Models, requests: Sequence[Request], key: Key, codec: Codec) -> list[Episode]:
    """An episode for each request, in the same order, with all its turns."""
    complete: dict[str, Episode] = {}
    with models.keeping() if any(map(in_play, requests)) else nullcontext(), Plays(codec, key, models) as plays:
        turns = plays.begin(requests)
        while turns:
            asked = [turn.now for turn in turns]
            made = zip(turns, generate(models, asked, key, codec), strict=True)
            acted = [plays.acted(turn, written) for turn, written in made]
            results = [plays.heard(result.waiting) if result.waiting else result for result in acted]
            complete |= {answer.request.id: answer for result in results for answer in result.complete}
            turns = [result.further for result in results if result.further]
    return [complete[request.id] for request in requests]
