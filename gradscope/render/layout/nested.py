"""Lays out a drawing: each cluster by itself, its boxes and inner clusters in layers, from the inside out.

An arrow that leaves a cluster is led to a port on its edge, and on from there in the cluster around: so none crosses a
box on its way. Everything is done as if arrows ran down, then turned. Nothing recurses.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from gradscope.render.layout.geometry import Layout, Point, Rect, Route
from gradscope.render.layout.layered import Layering, Strand, arrange, sequence
from gradscope.render.layout.rows import WIDE
from gradscope.view.drawing import Drawing
from gradscope.view.style import Direction

PAD = 14.0
LABEL = 20.0  # the height of a cluster's name

Size = tuple[float, float]
Port = tuple[int, bool]  # a box, and whether its arrows come in from above or go out below
Way = list[tuple[float, float, float]]  # x, and the y from which and to which it goes straight down


@dataclass(slots=True)
class Room:
    """A cluster, or the whole (None): what it holds, and how that is laid out, from its own corner."""

    around: int | None
    label: Size = (0.0, 0.0)
    items: list[int] = field(default_factory=list)
    ports: dict[Port, None] = field(default_factory=dict)
    crossing: list[tuple[int, int, int]] = field(default_factory=list)  # arrow, upper item, lower item
    size: Size = (0.0, 0.0)
    corner: dict[int, Point] = field(default_factory=dict)
    port_x: dict[Port, float] = field(default_factory=dict)
    port_way: dict[Port, Way] = field(default_factory=dict)
    ways: dict[int, Way] = field(default_factory=dict)


def lay_out(
    drawing: Drawing, sizes: Sequence[Size], labels: Sequence[float], direction: Direction, beside: int = WIDE
) -> Layout:
    """Places for boxes of these sizes, about so many side by side, and for clusters whose names are so wide."""
    return Nest(drawing, sizes, labels, direction, beside).layout()


class Nest:
    """One drawing while it is laid out. Items are boxes, and behind them, numbered on, clusters."""

    def __init__(
        self, drawing: Drawing, sizes: Sequence[Size], labels: Sequence[float], direction: Direction, beside: int
    ) -> None:
        self._direction, self._beside = direction, beside
        self._sideways = direction in (Direction.RIGHT, Direction.LEFT)
        self._boxes = len(drawing.boxes)
        self._arrows = drawing.arrows
        self._sizes: list[Size] = [(size[1], size[0]) if self._sideways else size for size in sizes]
        self._around: list[int | None] = [box.cluster for box in drawing.boxes]
        self._around += [cluster.around for cluster in drawing.clusters]
        self._rooms: dict[int | None, Room] = {None: Room(None)}
        for number, (cluster, width) in enumerate(zip(drawing.clusters, labels, strict=True)):
            self._rooms[number] = Room(cluster.around, (LABEL, width) if self._sideways else (width, LABEL))
        for item, room in enumerate(self._around):
            self._rooms[room].items.append(item)
        self._first = self._first_boxes()
        self._upside_down: set[int] = set()

    def layout(self) -> Layout:
        """All of it."""
        self._find_crossings()
        for number in range(len(self._rooms) - 2, -1, -1):  # the innermost first
            self._lay_out_room(number)
        self._lay_out_room(None)
        corners = self._corners()
        rects = [self._rect(item, corners) for item in range(len(self._around))]
        routes = [self._route(number, corners) for number in range(len(self._arrows))]
        return self._turned(rects, routes)

    def _first_boxes(self) -> list[int]:
        """Of every item the first box in it, which stands for its place in backward order."""
        first = list(range(self._boxes)) + [self._boxes] * (len(self._around) - self._boxes)
        for item in range(len(self._around) - 1, -1, -1):
            around = self._around[item]
            if around is not None:
                first[self._boxes + around] = min(first[self._boxes + around], first[item])
        return first

    def _rooms_of(self, box: int) -> list[int | None]:
        """The rooms around a box, the nearest first."""
        rooms = [self._around[box]]
        while rooms[-1] is not None:
            rooms.append(self._rooms[rooms[-1]].around)
        return rooms

    def _find_crossings(self) -> None:
        """In which room each arrow goes from one item to another, and through which ports it gets there."""
        known = {room: self._rooms_of(box) for box, room in enumerate(self._around[: self._boxes])}
        path: list[tuple[list[int | None], list[int | None]]] = []
        for number, arrow in enumerate(self._arrows):
            tails, heads = known[self._around[arrow.tail]], known[self._around[arrow.head]]
            shared = 1
            while shared <= min(len(tails), len(heads)) and tails[-shared] == heads[-shared]:
                shared += 1
            out, into = tails[: len(tails) - shared + 1], heads[: len(heads) - shared + 1]
            path.append((out, into))
            room = self._rooms[tails[len(out)]]
            room.crossing.append((number, self._item(arrow.tail, out), self._item(arrow.head, into)))
        for room in self._rooms.values():
            self._find_upside_down(room)
        for number, (out, into) in enumerate(path):
            upside_down, arrow = number in self._upside_down, self._arrows[number]
            for inner in out:
                self._rooms[inner].ports[arrow.tail, upside_down] = None
            for inner in into:
                self._rooms[inner].ports[arrow.head, not upside_down] = None

    def _item(self, box: int, rooms: list[int | None]) -> int:
        """A box, or the outermost of the clusters around it."""
        outermost = rooms[-1] if rooms else None
        return box if outermost is None else self._boxes + outermost

    def _find_upside_down(self, room: Room) -> None:
        """Arrows that must point up, because grouping made a circle."""
        place = {item: number for number, item in enumerate(room.items)}
        edges = [(place[upper], place[lower]) for _, upper, lower in room.crossing]
        turn = {at: number for number, at in enumerate(sequence([self._first[item] for item in room.items], edges))}
        for at, (number, tail, head) in enumerate(room.crossing):
            if turn[place[tail]] > turn[place[head]]:
                self._upside_down.add(number)
                room.crossing[at] = (number, head, tail)

    def _lay_out_room(self, number: int | None) -> None:
        room = self._rooms[number]
        place = {item: at for at, item in enumerate(room.items)}
        ports = list(room.ports)
        level = self._level(number, room, place, ports)
        arrange(level)
        self._measure(number, room, level)
        left, top, *_ = self._padding(number)
        for item, at in place.items():
            width, _ = self._size(item)
            room.corner[item] = (level.x[at] - width / 2 + left, level.tops[level.layer[at]] + top)
        for at, port in enumerate(ports, len(room.items)):
            room.port_x[port] = level.x[at] + left
        strands = iter(level.strands)
        for number_of_arrow, _, _ in room.crossing:
            room.ways[number_of_arrow] = self._way(level, next(strands), left, top)
        for port in ports:
            room.port_way[port] = self._way(level, next(strands), left, top)

    def _level(self, number: int | None, room: Room, place: dict[int, int], ports: list[Port]) -> Layering:
        """What to lay out: items, then ports; strands of arrows, then of ports."""
        sizes = [self._size(item) for item in room.items]
        strands = []
        for arrow, upper, lower in room.crossing:
            ends = (self._arrows[arrow].tail, self._arrows[arrow].head)
            above, below = reversed(ends) if arrow in self._upside_down else ends
            offsets = (self._offset(upper, (above, False)), self._offset(lower, (below, True)))
            strands.append(Strand(place[upper], place[lower], *offsets))
        inside = self._rooms_inside(number)
        for at, (box, above) in enumerate(ports, len(room.items)):
            item = inside.get(box, box)
            offset = self._offset(item, (box, above))
            strands.append(Strand(at, place[item], 0.0, offset) if above else Strand(place[item], at, offset, 0.0))
        numbered = list(enumerate(ports, len(room.items)))
        return Layering(
            [width for width, _ in sizes] + [0.0] * len(ports),
            [height for _, height in sizes] + [0.0] * len(ports),
            [self._first[item] for item in room.items] + [box for box, _ in ports],
            strands,
            frozenset(at for at, (_, above) in numbered if above),
            frozenset(at for at, (_, above) in numbered if not above),
            beside=self._beside,
        )

    def _rooms_inside(self, number: int | None) -> dict[int, int]:
        """For the boxes with ports in the clusters directly inside a room: the item that they are in."""
        found: dict[int, int] = {}
        for item in self._rooms[number].items:
            if item >= self._boxes:
                found.update((box, item) for box, _ in self._rooms[item - self._boxes].ports)
        return found

    def _size(self, item: int) -> Size:
        return self._sizes[item] if item < self._boxes else self._rooms[item - self._boxes].size

    def _offset(self, item: int, port: Port) -> float:
        """How far from an item's middle an arrow is attached."""
        if item < self._boxes:
            return 0.0
        room = self._rooms[item - self._boxes]
        return room.port_x[port] - room.size[0] / 2

    def _padding(self, number: int | None) -> tuple[float, float, float, float]:
        """Left, top, right, bottom of a cluster; its name stands where the upper left corner is once all is turned."""
        if number is None:
            return 0.0, 0.0, 0.0, 0.0
        if self._sideways:
            return PAD + LABEL, PAD, PAD, PAD
        if self._direction is Direction.UP:
            return PAD, PAD, PAD, PAD + LABEL
        return PAD, PAD + LABEL, PAD, PAD

    def _measure(self, number: int | None, room: Room, level: Layering) -> None:
        """The size of a room; its content is moved to start at 0."""
        low = min((x - width / 2 for x, width in zip(level.x, level.widths, strict=True)), default=0.0)
        high = max((x + width / 2 for x, width in zip(level.x, level.widths, strict=True)), default=0.0)
        level.x = [x - low for x in level.x]
        tall = level.tops[-1] + level.tall[-1] if level.tops else 0.0
        left, top, right, bottom = self._padding(number)
        width, height = high - low + left + right, tall + top + bottom
        if number is not None:
            width, height = max(width, room.label[0] + 2 * PAD), max(height, room.label[1] + 2 * PAD)
        room.size = (width, height)
        if not self._sideways:  # in the middle, where the name is wider than what is inside
            level.x = [x + (width - (high - low + left + right)) / 2 for x in level.x]

    def _way(self, level: Layering, strand: Strand, left: float, top: float) -> Way:
        """Where a strand goes straight: beside its own ends when others in the layer are taller, and past layers."""
        way: Way = []
        for vertex in (strand.upper, *strand.way, strand.lower):
            layer = level.layer[vertex]
            begin, end = level.tops[layer] + top, level.tops[layer] + level.tall[layer] + top
            if vertex == strand.upper:
                way.append((level.x[vertex] + strand.upper_at + left, begin + level.heights[vertex], end))
            elif vertex == strand.lower:
                way.append((level.x[vertex] + strand.lower_at + left, begin, begin))
            else:
                way.append((level.x[vertex] + left, begin, end))
        return way

    def _corners(self) -> list[Point]:
        """The corner of every room, from the outside in."""
        corners: list[Point] = []
        for number in range(len(self._rooms) - 1):
            around = self._rooms[number].around
            x, y = (0.0, 0.0) if around is None else corners[around]
            inner_x, inner_y = self._rooms[around].corner[self._boxes + number]
            corners.append((x + inner_x, y + inner_y))
        return corners

    def _rect(self, item: int, corners: list[Point]) -> Rect:
        around = self._around[item]
        x, y = (0.0, 0.0) if around is None else corners[around]
        inner_x, inner_y = self._rooms[around].corner[item]
        return Rect(x + inner_x, y + inner_y, *self._size(item))

    def _route(self, number: int, corners: list[Point]) -> Route:
        """The way of an arrow through all rooms, from its upper to its lower end, and turned when it points up."""
        arrow = self._arrows[number]
        upside_down = number in self._upside_down
        upper, lower = (arrow.head, arrow.tail) if upside_down else (arrow.tail, arrow.head)
        above, below = self._rooms_of(upper), self._rooms_of(lower)
        while above and below and above[-1] == below[-1]:
            shared = above.pop()
            below.pop()
        legs = [(room, self._rooms[room].port_way[upper, False]) for room in above]
        legs.append((shared, self._rooms[shared].ways[number]))
        legs += [(room, self._rooms[room].port_way[lower, True]) for room in reversed(below)]
        way: Way = []
        for room, leg in legs:
            x, y = (0.0, 0.0) if room is None else corners[room]
            way += [(x + at, y + begin, y + end) for at, begin, end in leg]
        route = _smooth(way)
        return _reversed(route) if upside_down else route

    def _turned(self, rects: list[Rect], routes: list[Route]) -> Layout:
        """Everything as the direction asks."""
        width, height = self._rooms[None].size
        if self._direction is not Direction.DOWN:
            rects = [self._turn_rect(rect, height) for rect in rects]
            routes = [self._turn_route(route, height) for route in routes]
        if self._sideways:
            width, height = height, width
        return Layout(width, height, tuple(rects[: self._boxes]), tuple(rects[self._boxes :]), tuple(routes))

    def _turn_rect(self, rect: Rect, height: float) -> Rect:
        y = rect.y if self._direction is Direction.RIGHT else height - rect.bottom
        return Rect(y, rect.x, rect.height, rect.width) if self._sideways else Rect(rect.x, y, rect.width, rect.height)

    def _turn_route(self, route: Route, height: float) -> Route:
        def turn(point: Point) -> Point:
            y = point[1] if self._direction is Direction.RIGHT else height - point[1]
            return (y, point[0]) if self._sideways else (point[0], y)

        curves = tuple((turn(one), turn(two), turn(end)) for one, two, end in route.curves)
        return Route(turn(route.start), curves, turn(route.label) if route.label else None)


def _smooth(way: Way) -> Route:
    """Straight down where it must, and between by curves that leave and arrive straight."""
    x, start, y = way[0]
    curves: list[tuple[Point, Point, Point]] = []
    if y > start:
        curves.append(((x, start), (x, y), (x, y)))
    for next_x, begin, end in way[1:]:
        middle = (y + begin) / 2
        if begin > y:
            curves.append(((x, middle), (next_x, middle), (next_x, begin)))
        x, y = next_x, begin
        if end > begin:
            curves.append(((x, begin), (x, end), (x, end)))
            y = end
    points = [(way[0][0], start), *(curve[2] for curve in curves)]
    at = max(range(1, len(points)), key=lambda place: abs(points[place][1] - points[place - 1][1]), default=0)
    one, other = points[max(at - 1, 0)], points[at]
    return Route(points[0], tuple(curves), ((one[0] + other[0]) / 2, (one[1] + other[1]) / 2))


def _reversed(route: Route) -> Route:
    """The same way from its other end."""
    starts = [route.start, *(curve[2] for curve in route.curves)]
    curves = tuple((curve[1], curve[0], starts[at]) for at, curve in reversed(list(enumerate(route.curves))))
    return Route(route.end, curves, route.label)
