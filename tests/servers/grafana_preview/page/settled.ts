const QUIET_FRAMES = 20;

/** Resolves when typefaces are there and nothing has moved for some frames: legends are measured before plots. */
export async function settled(): Promise<void> {
  await document.fonts.ready;
  let quiet = 0;
  const observer = new MutationObserver(() => (quiet = 0));
  observer.observe(document.body, { attributes: true, childList: true, subtree: true, characterData: true });
  while (quiet < QUIET_FRAMES) {
    await new Promise(requestAnimationFrame);
    quiet += 1;
  }
  observer.disconnect();
}
