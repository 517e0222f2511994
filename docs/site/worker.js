// Searching needs a worker, and pages opened as files may not start one: then a hidden frame does its work.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(address) {
      super();
      this.waiting = [];
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.append(frame);
      this.inner = frame.contentWindow;
      this.inner.postMessage = (data) => {
        const event = new MessageEvent("message", { data });
        this.dispatchEvent(event);
        if (this.onmessage) this.onmessage(event);
      };
      const script = this.inner.document.createElement("script");
      script.src = address;
      script.onload = () => { this.ready = true; this.waiting.splice(0).forEach((data) => this.hand(data)); };
      this.inner.document.head.append(script);
    }
    postMessage(data) { if (this.ready) this.hand(data); else this.waiting.push(data); }
    hand(data) {
      const event = new MessageEvent("message", { data });
      this.inner.dispatchEvent(event);
    }
    terminate() {}
  };
}
