// <living-picture>: the figures, what the reader chooses, and the time that passes.
"use strict";
(living => {
  const calm = matchMedia("(prefers-reduced-motion: reduce)");
  const REACH = 18; // pixels: how near to a node the pointer must be

  class LivingPicture extends HTMLElement {
    connectedCallback() {
      if (this.shadowRoot) return;
      const root = this.attachShadow({ mode: "open" }), style = document.createElement("link");
      root.innerHTML = living.html();
      root.prepend(style);
      style.addEventListener("load", () => this.begin());
      living.set(style, { rel: "stylesheet", href: new URL("living.css", living.here) });
      this.get = id => root.getElementById(id);
      this.choices = living.choices();
      Object.assign(this, { time: 0, speed: 12, playing: false, lit: -1, shows: [] });
    }

    begin() {
      living.followTheme(this);
      this.network = living.networkView(this.get("network"));
      this.plane = living.planeView(this.get("plane"));
      this.curve = living.curveView(this.get("curve"));
      this.views = [this.network, this.plane, this.curve];
      this.bindChoices();
      this.bindTime();
      this.bindPointer(this.get("network"), this.network);
      this.bindPointer(this.get("plane"), this.plane);
      this.choose(this.stories[0]);
      new ResizeObserver(() => requestAnimationFrame(() => this.resize())).observe(this);
      if (calm.matches) this.goTo(this.choices.steps);
      else this.playOnceSeen();
    }

    on(id, event, act) {
      this.get(id).addEventListener(event, act);
    }

    // ------------------------------------------------------------------ what is chosen

    bindChoices() {
      this.bindSelect("network-name", () => this.choices, "network");
      this.bindSelect("noise", () => this.choices, "noise");
      for (const name of ["n", "loss", "level"]) this.bindSlider(name, name, () => this.choices);
      this.bindSlider("speed", "speed", () => this);
      this.choices.picks.forEach((_, r) => {
        const pick = () => this.choices.picks[r];
        const take = method => Object.assign(pick(), living.pick(method));
        this.bindSelect(`method-${r}`, pick, "method", take);
        for (const name of Object.keys(living.settings)) {
          this.bindSlider(`${name}-${r}`, name, () => pick().settings);
        }
      });
      this.on("reseed", "click", () => { this.choices.seed += 1; this.choose(); });
      const copy = () => navigator.clipboard?.writeText(this.get("python").textContent);
      this.on("copy", "click", copy);
      for (const button of this.stories) button.addEventListener("click", () => this.tell(button));
    }

    // A select for the value of a name in what `holder` returns.
    bindSelect(id, holder, name, take = value => { holder()[name] = value; }) {
      this.shows.push(() => { this.get(id).value = holder()[name]; });
      this.on(id, "change", ({ target }) => { take(target.value); this.choose(); });
    }

    // A slider likewise, through the scale of the name; it hides where there is no such value.
    bindSlider(id, name, holder) {
      const slider = this.get(id), scale = living.scales[name];
      slider.max = scale.length - 1;
      this.on(id, "input", () => { holder()[name] = scale[slider.value]; this.choose(); });
      this.shows.push(() => {
        const value = holder()[name];
        this.get(`${id}-row`).hidden = value === undefined;
        if (value === undefined) return;
        const text = (living.valueText[name] ?? String)(value);
        living.set(slider, { "aria-valuetext": text });
        slider.value = scale.indexOf(value);
        this.get(`${id}-value`).textContent = text;
      });
    }

    get stories() {
      return this.shadowRoot.querySelectorAll(".stories button");
    }

    tell(button) {
      this.choices = living.choices(living.stories[button.textContent]);
      this.choose(button);
      this.goTo(calm.matches ? this.choices.steps : 0);
      if (!calm.matches) this.play(true);
    }

    // All anew after a choice; the time stays, so that its effect is seen at once.
    choose(story) {
      this.scene = living.scene(this.choices);
      this.shows.forEach(show => show());
      for (const button of this.stories) button.ariaPressed = button === story;
      this.get("time").max = this.choices.steps;
      this.choices.picks.forEach(({ method }, r) => {
        this.style.setProperty(`--pick-${r}`, `var(--${method})`);
        this.get(`says-${r}`).textContent = living.says[method];
      });
      this.say();
      this.redraw();
    }

    say() {
      const caption = living.caption(this.scene), { network, n } = this.choices;
      this.get("caption").textContent = caption;
      this.get("python").textContent = living.python(this.scene);
      const labels = {
        network: `${living.networks[network].title} of ${n} nodes, with messages on their way`,
        plane: "The models of all nodes over the contours of the average objective",
        curve: `Average distance from the optimum against steps. ${caption}`,
      };
      for (const id in labels) living.set(this.get(id), { "aria-label": labels[id] });
    }

    resize() {
      if (this.clientWidth === this.width) return;
      this.width = this.clientWidth;
      this.redraw();
    }

    redraw() {
      for (const view of this.views) view.prepare(this.scene);
      this.draw();
    }

    // The node nearest to the pointer is lit in both figures.
    bindPointer(svg, view) {
      const light = lit => { if (lit !== this.lit) { this.lit = lit; this.draw(); } };
      const nearest = ({ clientX, clientY }) => {
        const { left, top } = svg.getBoundingClientRect(), t = Math.floor(this.time);
        const away = ([x, y], i) => [Math.hypot(x + left - clientX, y + top - clientY), i];
        const all = view.marks(t, this.time - t).flatMap(list => list.map(away));
        const [distance, node] = all.reduce((a, b) => (b[0] < a[0] ? b : a));
        return distance < REACH ? node : -1;
      };
      svg.addEventListener("pointermove", event => light(nearest(event)));
      svg.addEventListener("pointerdown", event => light(nearest(event)));
      svg.addEventListener("pointerleave", () => light(-1));
    }

    // ------------------------------------------------------------------ the time

    bindTime() {
      this.on("play", "click", () => this.play(!this.playing));
      this.on("step", "click", () => this.stepOn());
      this.on("restart", "click", () => this.goTo(0));
      this.on("time", "input", ({ target }) => this.scrub(Number(target.value)));
      const drag = ({ buttons, clientX }) => {
        if (buttons === 1) this.scrub(this.curve.stepAt(clientX));
      };
      this.on("curve", "pointerdown", drag);
      this.on("curve", "pointermove", drag);
    }

    playOnceSeen() {
      const begin = ([{ isIntersecting }]) => { if (isIntersecting) this.play(true); };
      this.watch = new IntersectionObserver(begin, { threshold: 0.2 });
      this.watch.observe(this);
    }

    play(on) {
      this.watch?.disconnect(); // from now on time obeys the reader
      if (on && this.time >= this.choices.steps) this.time = 0;
      this.playing = on;
      this.get("play").textContent = on ? "Pause" : "Play";
      cancelAnimationFrame(this.frame);
      if (on) this.runTo(this.choices.steps);
    }

    stepOn() {
      this.play(false);
      const next = Math.min(this.choices.steps, Math.floor(this.time) + 1);
      if (calm.matches) this.goTo(next);
      else this.runTo(next);
    }

    runTo(end) {
      let before;
      const tick = now => {
        const seconds = Math.min(0.1, (now - (before ?? now)) / 1000);
        before = now;
        this.goTo(Math.min(end, this.time + seconds * (this.playing ? this.speed : 2)));
        if (this.time < end) this.frame = requestAnimationFrame(tick);
        else if (this.playing) this.play(false);
      };
      this.frame = requestAnimationFrame(tick);
    }

    scrub(time) {
      this.play(false);
      this.goTo(time);
    }

    goTo(time) {
      this.time = time;
      this.draw();
    }

    draw() {
      const t = Math.floor(this.time), phase = calm.matches ? 0 : this.time - t;
      for (const view of this.views) view.draw(t, phase, this.lit);
      this.get("time").value = this.get("time-value").textContent = t;
      this.scene.runs.forEach(({ errors }, r) => {
        this.get(`error-${r}`).textContent = living.digits(errors[t]);
      });
    }
  }

  customElements.define("living-picture", LivingPicture);
})(window.living ??= {});
