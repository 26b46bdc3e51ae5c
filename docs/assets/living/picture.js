// <living-picture>: the figures, what the reader chooses, and the time that passes.
"use strict";
(living => {
  const SPEEDS = [1, 2, 4, 8, 16, 32, 64]; // steps per second
  const calm = matchMedia("(prefers-reduced-motion: reduce)");

  class LivingPicture extends HTMLElement {
    connectedCallback() {
      if (this.shadowRoot) return;
      const root = this.attachShadow({ mode: "open" }), style = document.createElement("link");
      living.set(style, { rel: "stylesheet", href: new URL("living.css", living.here) });
      root.innerHTML = living.html();
      root.prepend(style);
      this.get = id => root.getElementById(id);
      this.choices = living.choices();
      Object.assign(this, { time: 0, playing: false, speed: 8, lit: -1 });
      style.addEventListener("load", () => this.begin());
    }

    begin() {
      living.followTheme(this);
      this.views = { network: living.networkView(this.get("network")), plane: living.planeView(this.get("plane")),
        curve: living.curveView(this.get("curve")) };
      this.bindChoices();
      this.bindTime();
      this.bindPointer("network");
      this.bindPointer("plane");
      this.choose();
      new ResizeObserver(() => this.redraw()).observe(this);
      if (calm.matches) this.goTo(this.choices.steps);
      else this.playOnceSeen();
    }

    // ------------------------------------------------------------------ what is chosen

    bindChoices() {
      this.bindSelect("network-name", this.choices, "network");
      this.bindSelect("noise", this.choices, "noise");
      for (const name of ["n", "loss", "level"]) this.bindSlider(name, living.scales[name], () => this.choices, name);
      this.choices.picks.forEach((_, r) => {
        const pick = this.choices.picks[r];
        this.bindSelect(`method-${r}`, pick, "method", () => { pick.settings = { ...living.methods[pick.method].settings }; });
        for (const name of Object.keys(living.symbols)) {
          this.bindSlider(`${name}-${r}`, living.scales[name], () => pick.settings, name);
        }
      });
      this.bindSlider("speed", SPEEDS, () => this, "speed", () => {});
      this.get("reseed").addEventListener("click", () => { this.choices.seed += 1; this.choose(); });
      this.get("copy").addEventListener("click", () => navigator.clipboard?.writeText(this.get("python").textContent));
    }

    bindSelect(id, holder, name, also = () => {}) {
      const select = this.get(id);
      select.value = holder[name];
      select.addEventListener("change", () => { holder[name] = select.value; also(); this.choose(); });
    }

    bindSlider(id, scale, holder, name, then = () => this.choose()) {
      const slider = this.get(id);
      slider.max = scale.length - 1;
      slider.addEventListener("input", () => { holder()[name] = scale[slider.value]; this.show(id, scale, holder, name); then(); });
      this.sliders = [...this.sliders ?? [], () => this.show(id, scale, holder, name)];
    }

    show(id, scale, holder, name) {
      const value = holder()[name], known = value !== undefined;
      this.get(`${id}-row`).hidden = !known;
      if (!known) return;
      const text = living.shown[name](value);
      living.set(this.get(id), { "aria-valuetext": text });
      this.get(id).value = scale.indexOf(value);
      this.get(`${id}-value`).textContent = text;
    }

    // Everything anew after a choice; the time stays, so that its effect is seen at once.
    choose() {
      this.scene = living.scene(this.choices);
      this.sliders.forEach(show => show());
      const caption = living.caption(this.scene), { network, n } = this.choices;
      this.get("caption").textContent = caption;
      this.get("python").textContent = living.python(this.scene);
      this.get("time").max = this.choices.steps;
      this.choices.picks.forEach(({ method }, r) => {
        this.style.setProperty(`--pick-${r}`, `var(--${method})`);
        this.get(`says-${r}`).textContent = living.says[method];
      });
      this.get("network").setAttribute("aria-label", `${living.networks[network].title} of ${n} nodes, with messages on their way`);
      this.get("plane").setAttribute("aria-label", "The models of all nodes over the contours of the average objective");
      this.get("curve").setAttribute("aria-label", `Average distance from the optimum against steps. ${caption}`);
      this.redraw();
    }

    redraw() {
      for (const view of Object.values(this.views)) view.prepare(this.scene);
      this.draw();
    }

    // The node nearest to the pointer is lit in both figures.
    bindPointer(name) {
      const svg = this.get(name), light = lit => { if (lit !== this.lit) { this.lit = lit; this.draw(); } };
      const nearest = event => {
        const box = svg.getBoundingClientRect(), at = [event.clientX - box.left, event.clientY - box.top];
        const away = ([x, y]) => Math.hypot(x - at[0], y - at[1]), t = Math.floor(this.time);
        const far = this.views[name].nodesAt(t, this.time - t).flatMap(where => where.map((v, i) => [away(v), i]));
        const [distance, node] = far.reduce((a, b) => (b[0] < a[0] ? b : a));
        return distance < 18 ? node : -1;
      };
      svg.addEventListener("pointermove", event => light(nearest(event)));
      svg.addEventListener("pointerdown", event => light(nearest(event)));
      svg.addEventListener("pointerleave", () => light(-1));
    }

    // ------------------------------------------------------------------ the time

    bindTime() {
      this.get("play").addEventListener("click", () => this.play(!this.playing));
      this.get("step").addEventListener("click", () => this.stepOn());
      this.get("restart").addEventListener("click", () => this.goTo(0));
      this.get("time").addEventListener("input", () => this.scrub(Number(this.get("time").value)));
      for (const name of ["pointerdown", "pointermove"]) {
        this.get("curve").addEventListener(name, event => {
          if (event.buttons === 1) this.scrub(this.views.curve.stepAt(event.clientX));
        });
      }
    }

    playOnceSeen() {
      const watch = new IntersectionObserver(([{ isIntersecting }]) => {
        if (isIntersecting) { watch.disconnect(); this.play(true); }
      }, { threshold: 0.3 });
      watch.observe(this);
    }

    play(on) {
      if (on && this.time >= this.choices.steps) this.time = 0;
      this.playing = on;
      this.get("play").textContent = on ? "Pause" : "Play";
      cancelAnimationFrame(this.frame);
      if (on) this.runTo(this.choices.steps);
    }

    // One step, in view.
    stepOn() {
      this.play(false);
      const next = Math.min(this.choices.steps, Math.floor(this.time) + 1);
      if (calm.matches) this.goTo(next);
      else this.runTo(next);
    }

    runTo(end) {
      let before;
      const tick = now => {
        const passed = Math.min(0.1, (now - (before ?? now)) / 1000) * (this.playing ? this.speed : 2);
        this.time = Math.min(end, this.time + passed);
        before = now;
        this.draw();
        if (this.time < end) this.frame = requestAnimationFrame(tick);
        else if (this.playing) this.play(false);
      };
      this.frame = requestAnimationFrame(tick);
    }

    goTo(time) {
      this.time = time;
      this.draw();
    }

    scrub(time) {
      this.play(false);
      this.goTo(time);
    }

    draw() {
      const t = Math.floor(this.time), phase = calm.matches ? 0 : this.time - t;
      for (const view of Object.values(this.views)) view.draw(t, phase, this.lit);
      this.get("time").value = this.get("time-value").textContent = t;
      this.get("time").setAttribute("aria-valuetext", `step ${t} of ${this.choices.steps}`);
      this.scene.runs.forEach((run, r) => { this.get(`error-${r}`).textContent = living.digits(run.errors[t]); });
    }
  }

  customElements.define("living-picture", LivingPicture);
})(window.living ??= {});
