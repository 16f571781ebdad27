const BROWSERS = [
  ['Firefox', /Firefox\/(\d+)/],
  ['Edge', /Edg\/(\d+)/],
  ['Opera', /OPR\/(\d+)/],
  ['Chrome', /Chrome\/(\d+)/],
  ['Safari', /Version\/(\d+).* Safari\//],
] as const
const SYSTEMS = [
  ['Android', /Android/],
  ['iPhone', /iPhone/],
  ['iPad', /iPad/],
  ['Windows', /Windows/],
  ['macOS', /Mac OS X/],
  ['ChromeOS', /CrOS/],
  ['Linux', /Linux/],
] as const
const SHOWN_CHARACTERS = 60

/** A `User-Agent` as people call it: `Firefox 140, Linux`. Of one that is not known, the beginning: anything may stand there. */
export function shownUserAgent(userAgent: string): string {
  const [browser, version] = find(BROWSERS, userAgent)
  const [system] = find(SYSTEMS, userAgent)
  if (browser === undefined) return userAgent.slice(0, SHOWN_CHARACTERS)
  return [`${browser} ${version}`, system].filter(Boolean).join(', ')
}

function find(forms: typeof BROWSERS | typeof SYSTEMS, userAgent: string): readonly (string | undefined)[] {
  for (const [name, form] of forms) {
    const found = form.exec(userAgent)
    if (found) return [name, found[1]]
  }
  return []
}
