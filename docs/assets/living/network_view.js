// The network: its nodes and links, messages on their way, lost ones, and spikes of noise.
"use strict";
(living => {
  const { each, points } = living;
  const SPIKE = 6; // scales of the noise: what is drawn as a spike
  const LANE = 2.5; // pixels to the right of its link: so messages both ways pass each other

  living.networkView = svg => {
    let scene, nodes, ways, radius, parts, round;

    function prepare(next) {
      scene = next;
      const { width, height } = living.fit(svg, w => 0.86 * w);
      const layout = living.layout(scene.network);
      radius = { 16: 9, 20: 8 }[scene.network.n] ?? 11;
      const half = Math.min(width, height) / 2 - radius - 16;
      const across = scene.network.name === "line" ? width / 2 - radius - 10 : half;
      const place = ([x, y]) => [width / 2 + across * x, height / 2 - half * y];
      nodes = layout.nodes.map(place);
      ways = layout.ways.map(way => way.map(piece => piece.map(place)));
      parts = living.groups(svg, "links", "flashes", "nodes", "needles1", "needles0", "messages",
        "lost");
      round = undefined;
    }

    function draw(t, phase, lit) {
      const used = scene.network.links.map(({ weights }) => weights[t % weights.length] > 0);
      if (round !== t % scene.network.rounds.length) drawLinks(used);
      round = t % scene.network.rounds.length;
      each(parts.nodes, "circle", nodes,
        ([cx, cy], i) => ({ cx, cy, r: radius, class: i === lit ? "lit" : "" }));
      drawMessages(t, phase, used);
      drawFlashes(t, phase);
      scene.runs.forEach((run, r) => drawNeedles(run, r, t, phase));
    }

    // Those that are idle in this round are drawn faintly.
    function drawLinks(used) {
      const pieces = ways.flatMap((way, e) => way.map(piece => [piece, used[e]]));
      each(parts.links, "polyline", pieces,
        ([piece, on]) => ({ points: points(piece), class: on ? "" : "idle" }));
    }

    function drawMessages(t, phase, used) {
      const sent = living.range(used.length).filter(e => used[e] && phase > 0);
      const size = sent.length > 150 ? 1.6 : 2.6, broken = phase >= 0.5;
      const come = sent.filter(e => scene.arrived[t][e]);
      const lost = sent.filter(e => !scene.arrived[t][e]);
      each(parts.messages, "path", [...come, ...(broken ? [] : lost)],
        e => ({ d: living.disc(onLane(ways[e], phase), size) }));
      each(parts.lost, "path", broken ? lost : [],
        e => ({ d: living.cross(onLane(ways[e], 0.5), size + 1), opacity: 2 - 2 * phase }));
    }

    function onLane(way, p) {
      const [[a, b]] = way, [x, y] = living.along(way, p);
      const length = Math.hypot(b[0] - a[0], b[1] - a[1]);
      return [x - LANE * (b[1] - a[1]) / length, y + LANE * (b[0] - a[0]) / length];
    }

    function drawFlashes(t, phase) {
      const strength = (scene.spikes[t] ?? []).map(size => Math.min(1.5, Math.log10(size / SPIKE)));
      const flashing = living.range(strength.length).filter(i => strength[i] > 0);
      each(parts.flashes, "circle", flashing, i => ({
        cx: nodes[i][0], cy: nodes[i][1], opacity: 0.9 * (1 - phase),
        r: radius + 4 + strength[i] * (5 + 7 * phase),
      }));
    }

    // Which way a node's model lies from the optimum, and how far: nodes that agree point alike.
    function drawNeedles(run, r, t, phase) {
      each(parts[`needles${r}`], "line", living.pointsAt(run, t, phase), (point, i) => {
        const [x, y] = living.drawable(point.map((c, k) => c - scene.average.optimum[k]));
        const size = Math.hypot(x, y), length = Math.min(radius + 14, 9 * Math.log1p(3 * size));
        const scale = size > 0 ? length / size : 0, [cx, cy] = nodes[i];
        return { ...living.line(nodes[i], [cx + scale * x, cy - scale * y]), class: `pick-${r}` };
      });
    }

    return { prepare, draw, marks: () => [nodes] };
  };
})(window.living ??= {});
