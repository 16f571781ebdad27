import { err, ok, type Result } from '../../../../base/result.ts'

/** Characters. A browser's offer with every codec has 10,000. */
const MAX_TEXT = 131_072
const MAX_LINE = 4096
/** Attributes of the session or of one m-line. */
const MAX_ATTRIBUTES = 1000
/** RFC 8843 sets none; a broadcast has two. */
const MAX_MEDIA = 16

/** Why an offer is not taken: 400 when it is malformed, 406 when nothing in it can be served. */
export interface SdpRefusal {
  readonly status: 400 | 406
  /** A sentence for the client. */
  readonly problem: string
}

export const malformed = (problem: string): { ok: false; error: SdpRefusal } => err({ status: 400, problem })
export const unservable = (problem: string): { ok: false; error: SdpRefusal } => err({ status: 406, problem })

/** The attributes of the session or of one m-line: values by name, in their order. A flag such as `sendonly` has ''. */
export interface SdpSection {
  /** What follows `m=`; '' for the session. */
  readonly media: string
  readonly attributes: ReadonlyMap<string, readonly string[]>
}

export interface Sections {
  readonly session: SdpSection
  readonly media: readonly SdpSection[]
}

export const first = (section: SdpSection, name: string): string | undefined => section.attributes.get(name)?.[0]
export const attributesOf = (section: SdpSection, name: string): readonly string[] => section.attributes.get(name) ?? []
export const has = (section: SdpSection, name: string): boolean => section.attributes.has(name)

/** Splits SDP (RFC 8866 section 9) or a fragment of it into its sections, within bounds. */
export function readSections(text: string): Result<Sections, SdpRefusal> {
  if (text.length > MAX_TEXT) return malformed(`The SDP is longer than ${MAX_TEXT} characters.`)
  const session = new OpenSection('')
  const media: OpenSection[] = []
  for (const [index, line] of text.split(/\r\n|\n|\r/).entries()) {
    if (line === '') continue
    const problem = readLine(line, media.at(-1) ?? session, media)
    if (problem !== null) return malformed(`Line ${index + 1} of the SDP ${problem}.`)
  }
  return ok({ session, media })
}

/** What is wrong with the line; null when it was taken. */
function readLine(line: string, section: OpenSection, media: OpenSection[]): string | null {
  if (line.length > MAX_LINE) return `is longer than ${MAX_LINE} characters`
  if (line[1] !== '=' || !/^[a-z]$/.test(line[0] ?? '')) return 'is not of the form <letter>=<value>'
  if (line[0] === 'm') {
    if (media.length === MAX_MEDIA) return `is the m-line after the ${MAX_MEDIA} that are allowed`
    media.push(new OpenSection(line.slice(2)))
  }
  if (line[0] === 'a' && !section.add(line.slice(2)))
    return `is the attribute after the ${MAX_ATTRIBUTES} that are allowed`
  return null
}

class OpenSection implements SdpSection {
  readonly media: string
  readonly attributes = new Map<string, string[]>()
  #count = 0

  constructor(media: string) {
    this.media = media
  }

  /** False when there are too many. */
  add(attribute: string): boolean {
    const colon = attribute.indexOf(':')
    const name = colon < 0 ? attribute : attribute.slice(0, colon)
    const value = colon < 0 ? '' : attribute.slice(colon + 1)
    const values = this.attributes.get(name)
    if (values === undefined) this.attributes.set(name, [value])
    else values.push(value)
    return ++this.#count <= MAX_ATTRIBUTES
  }
}
