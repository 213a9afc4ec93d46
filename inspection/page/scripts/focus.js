// The focus while elements are made anew. In: what draws. Out: the focus where the reader left it, never lost.

/**
 * Runs a function that draws. If that removed or hid what had the focus, what took its place gets it, else the
 * heading of the details, else the view.
 */
function keepingFocus(draw) {
  const before = document.activeElement;
  const around = [];
  for (let each = before?.parentElement; each; each = each.parentElement) around.push(each);
  draw();
  if (!before || before === document.body || isShown(before)) return;
  const home = around.find(isShown);
  const twin = [...home.querySelectorAll(before.tagName)].find((each) => isShown(each) && sameControl(each, before));
  if (twin) return twin.focus();
  const next = home.closest('.panel')?.querySelector('h2') ?? document.querySelector('.main');
  if (!next.hasAttribute('tabindex')) next.tabIndex = -1;
  next.focus({ preventScroll: true });
}

function isShown(element) {
  return element.isConnected && element.checkVisibility();
}

/** Whether two elements do the same. Several operations may have one name, so those are never taken for one another. */
function sameControl(a, b) {
  if (a.disabled || b.dataset.node || a.classList[0] !== b.classList[0]) return false;
  const said = (each) => each.getAttribute('aria-label') ?? each.textContent;
  return said(a) === said(b);
}
