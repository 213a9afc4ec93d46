// Search on pages opened from a folder. In: the address of a worker's script. Out: a Worker that runs it in a hidden frame.
//
// Browsers start no workers for file: addresses, which the theme's search needs. Its offline plugin would fetch such a stand-in
// (https://github.com/squidfunk/iframe-worker) from another host; this one is part of the site.
(() => {
  if (location.protocol !== 'file:') return;

  window.Worker = class extends EventTarget {
    constructor(address) {
      super();
      this.frame = document.createElement('iframe');
      this.frame.hidden = true;
      document.body.append(this.frame);
      const inside = this.frame.contentWindow;
      inside.postMessage = (data) => setTimeout(() => this.dispatchEvent(new MessageEvent('message', { data })));
      const script = inside.document.createElement('script');
      script.src = address;
      this.loaded = new Promise((done) => script.addEventListener('load', done));
      inside.document.body.append(script);
    }

    postMessage(data) {
      this.loaded.then(() => this.frame.contentWindow.dispatchEvent(new MessageEvent('message', { data })));
    }

    terminate() {
      this.frame.remove();
    }
  };
})();
