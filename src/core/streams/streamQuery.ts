import { err, ok, type Result } from '../../base/result.ts'
import { checkStreamName } from '../access/streamName.ts'
import type { FieldErrors } from '../errors.ts'
import { readListQuery, type ParameterReader, type QueryPart } from '../pages/listQuery.ts'
import { readSearch } from '../pages/search.ts'

export interface StreamFilter {
  streamName?: string
}

const READERS: Readonly<Record<string, ParameterReader<StreamFilter>>> = {
  streamName: (text) => {
    const problem = checkStreamName(text)
    return problem === null ? ok({ streamName: text }) : err(problem)
  },
}

/** Parses the query of a list of streams on the air, or of broadcasts, and reports all errors at once. */
export const readOnAirQuery = (query: Record<string, unknown>): Result<StreamFilter & QueryPart, FieldErrors> =>
  readListQuery(query, READERS)

export interface EndedFilter {
  search?: string
}

/** Parses the query of the list of streams that are off the air, and reports all errors at once. */
export const readEndedQuery = (query: Record<string, unknown>): Result<EndedFilter & QueryPart, FieldErrors> =>
  readListQuery<EndedFilter>(query, { search: readSearch })
