// Notes what the players of a page do. Tests read `seen`.
globalThis.seen = { states: [], violations: [] }
globalThis.players = () => [...document.querySelectorAll('sluice-player')]
globalThis.video = (at) => players()[at].shadowRoot.querySelector('video')
globalThis.part = (at, selector) => players()[at].shadowRoot.querySelectorAll(selector)
addEventListener('securitypolicyviolation', ({ violatedDirective, blockedURI }) =>
  seen.violations.push(`${violatedDirective} ${blockedURI}`),
)
document.addEventListener(
  'statechange',
  ({ target, detail: { state, code } }) =>
    seen.states.push(`${players().indexOf(target)} ${state}${code === null ? '' : `: ${code}`}`),
  true,
)
