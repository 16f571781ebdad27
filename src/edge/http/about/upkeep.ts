import { type Static, Type } from 'typebox'
import { DAY_MS, isoTime } from '../../../base/time.ts'
import { daysLeft, expiresSoon } from '../../../core/certificates/renewal.ts'
import { saidAs, saidAsData } from '../../../core/notices.ts'
import { reportedNode } from '../fieldSchemas.ts'
import type { HttpsOptions } from '../https.ts'

/** The country database in use. */
export interface CountryFile {
  readonly path: string
  /** When its provider made it; null: it does not say. */
  readonly builtMs: number | null
}

export interface UpkeepOptions {
  readonly version: string
  /** Null: there is none. */
  readonly countryFile: () => CountryFile | null
  /** Absent: this server speaks no TLS. */
  readonly https?: Pick<HttpsOptions, 'certificate'> | undefined
}

/** What grows old: the version, the certificate, the country database. */
export function upkeepRecord(
  node: string,
  { version, countryFile, https }: UpkeepOptions,
  nowMs: number,
): Static<typeof Upkeep> {
  const countries = countryFile()
  return {
    node,
    version,
    ...(countries === null ? {} : { countryDatabase: countriesAt(countries, nowMs) }),
    ...(https ? { certificate: certificateAt(https, nowMs) } : {}),
  }
}

const countriesAt = ({ path, builtMs }: CountryFile, nowMs: number) => ({
  path,
  ...(builtMs === null
    ? {}
    : { builtOn: isoTime(builtMs), ageDays: Math.max(0, Math.floor((nowMs - builtMs) / DAY_MS)) }),
})

const certificateAt = ({ certificate: { current, problem } }: Pick<HttpsOptions, 'certificate'>, nowMs: number) => ({
  names: [...current.names],
  expiresOn: isoTime(current.expiresMs),
  daysLeft: daysLeft(current, nowMs),
  isLate: expiresSoon(current, nowMs),
  ...saidAs('problem', problem),
})

export const Upkeep = Type.Object({
  node: reportedNode,
  version: Type.String(),
  countryDatabase: Type.Optional(
    Type.Object(
      {
        path: Type.String(),
        builtOn: Type.Optional(Type.String({ format: 'date-time', description: 'By its provider, as the file says.' })),
        ageDays: Type.Optional(Type.Integer({ minimum: 0 })),
      },
      { description: 'Absent: there is none.' },
    ),
  ),
  certificate: Type.Optional(
    Type.Object(
      {
        names: Type.Array(Type.String()),
        expiresOn: Type.String({ format: 'date-time' }),
        daysLeft: Type.Integer({ description: 'Negative once it has expired.' }),
        isLate: Type.Boolean({ description: 'It should have been renewed by now.' }),
        problem: Type.Optional(Type.String({ description: 'Why the latest replacement failed.' })),
        problemSentences: Type.Optional(saidAsData()),
      },
      { description: 'Absent: Sluice speaks no TLS.' },
    ),
  ),
})
