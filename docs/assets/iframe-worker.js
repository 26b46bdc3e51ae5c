/* Search without a server: a page opened from disk may not start a Worker, so it runs in a frame. */
if (location.protocol === "file:") {
  window.Worker = window.IFrameWorker = class extends EventTarget {
    constructor(url) {
      super()
      const frame = document.createElement("iframe")
      frame.hidden = true
      document.body.append(frame)
      this.inside = frame.contentWindow
      const page = this.inside.document
      page.open()
      page.write("<!doctype html><body></body>")
      page.close()
      this.inside.postMessage = data => this.dispatchEvent(new MessageEvent("message", { data }))
      const script = page.createElement("script")
      script.src = url
      this.ready = new Promise(resolve => (script.onload = resolve))
      page.body.append(script)
    }

    postMessage(data) {
      const event = new this.inside.MessageEvent("message", { data })
      this.ready.then(() => this.inside.dispatchEvent(event))
    }
  }
}
