/** The steps of a decision, by their words in English; `{}` stands for a value, which keeps its place in the order. */
const STEPS: Readonly<Record<string, string>> = {
  'no token was presented, and publishing needs one': 'es kam kein Token, und Senden braucht einen',
  'no token was presented, and no account was named': 'es kam kein Token, und kein Konto war genannt',
  'no token was presented, and the stream is secured': 'es kam kein Token, und der Stream ist gesichert',
  'the stream is open: viewers need no token': 'der Stream ist offen: Zuschauer brauchen keinen Token',
  'a user of the account sees the stream in the dashboard': 'ein Benutzer des Kontos sieht den Stream im Dashboard',
  'the pass of a preview does not publish': 'der Ausweis einer Vorschau erlaubt kein Senden',
  'the pass of a preview is for another stream': 'der Ausweis der Vorschau gilt für einen anderen Stream',
  'the pass of a preview is damaged': 'der Ausweis der Vorschau ist beschädigt',
  'the session of the dashboard has ended': 'die Sitzung des Dashboards ist zu Ende',
  'a token is 64 lower-case hex characters or a JWT': 'ein Token hat 64 hexadezimale Kleinbuchstaben oder ist ein JWT',
  'no token has this value': 'kein Token hat diesen Wert',
  'the token is known': 'den Token gibt es',
  'the token was signed with the value of a known subscribe token':
    'der Token ist mit dem Wert eines vorhandenen Zuschau-Tokens signiert',
  'a subscribe token cannot publish': 'ein Zuschau-Token erlaubt kein Senden',
  'a publish token cannot view': 'ein Sende-Token erlaubt kein Zuschauen',
  'the parent token does not exist': 'den Token, mit dem er signiert ist, gibt es nicht',
  'the signature is not made with the parent token': 'die Signatur stammt nicht von dem Token, den er nennt',
  'the self-signed token names another parent': 'der selbst signierte Token nennt einen anderen Token als seinen',
  'this self-signed token (jti) was revoked': 'dieser selbst signierte Token (jti) wurde widerrufen',
  'self-signed tokens issued before a later time were revoked':
    'selbst signierte Token aus der Zeit vor einem späteren Moment wurden widerrufen',
  'older self-signed tokens were revoked and this one has no iat':
    'ältere selbst signierte Token wurden widerrufen, und dieser hat kein iat',
  'the tracking id is not that of the parent': 'die Tracking-ID ist nicht die des Tokens, mit dem er signiert ist',
  'nbf lies more than {} s in the future': 'nbf liegt mehr als {} s in der Zukunft',
  'iat lies more than {} s in the future': 'iat liegt mehr als {} s in der Zukunft',
  'the token is longer than {} bytes': 'der Token ist länger als {} Bytes',
  'a JWT has three parts': 'ein JWT hat drei Teile',
  'the signature is not one of {}': 'die Signatur ist keine von {}',
  'the header is not base64url of one JSON object': 'der Kopf ist kein base64url eines JSON-Objekts',
  'the payload is not base64url of one JSON object': 'der Inhalt ist kein base64url eines JSON-Objekts',
  'alg must be HS256, HS384 or HS512': 'alg muss HS256, HS384 oder HS512 sein',
  'typ must be JWT': 'typ muss JWT sein',
  'crit is not supported': 'crit wird nicht unterstützt',
  'the claim {} must be an object': 'das Feld {} muss ein Objekt sein',
  '{} must be an object with nothing but {}': '{} muss ein Objekt sein, das nur {} hat',
  '{} must be the integer id of the parent token': '{} muss die Zahl des Tokens sein, mit dem er signiert ist',
  '{} must be a string of at most {} characters without NUL': '{} muss ein Text von höchstens {} Zeichen ohne NUL sein',
  '{} must be a string': '{} muss ein Text sein',
  '{} must be a list of at most {}': '{} muss eine Liste von höchstens {} sein',
  '{} must be a number of seconds since 1970': '{} muss eine Zahl von Sekunden seit 1970 sein',
  '{} must have {} to {} characters': '{} muss {} bis {} Zeichen haben',
  '{} must be "{}"': '{} muss „{}“ sein',
  '{} is required, in seconds since 1970': '{} fehlt; es sind Sekunden seit 1970',
  '{} is not known': '{} gibt es nicht',
  '{}: ranges are not supported; {} is allowed': '{}: Bereiche gehen nicht; erlaubt ist {}',
  '{}: IPv6 is not supported here; {} is allowed': '{}: IPv6 geht hier nicht; erlaubt ist {}',
  '{}: a path, query or fragment is not part of an origin; {} is allowed':
    '{}: Pfad, Anfrage und Fragment gehören nicht zu einer Website; erlaubt ist {}',
  'the token is active': 'der Token ist aktiv',
  'the token is disabled': 'der Token ist abgeschaltet',
  'the token never expires': 'der Token läuft nie ab',
  'the token has not expired': 'der Token ist nicht abgelaufen',
  'the token expired {} s ago': 'der Token ist vor {} s abgelaufen',
  'the self-signed token (exp) expired {} s ago': 'der selbst signierte Token (exp) ist vor {} s abgelaufen',
  'the token covers the stream name': 'der Token gilt für diesen Streamnamen',
  'none of the streams of the token has this name': 'keiner der Streams des Tokens hat diesen Namen',
  'the self-signed token names another stream': 'der selbst signierte Token nennt einen anderen Stream',
  'the token has no allowed origins': 'der Token nennt keine erlaubten Websites',
  'the origin is allowed': 'die Website ist erlaubt',
  'the token has allowed origins and the request has no Origin header':
    'der Token nennt erlaubte Websites, und die Anfrage hat keinen Origin-Header',
  'the token has allowed origins, and {} has no origin': 'der Token nennt erlaubte Websites, und {} hat keine',
  'the origin matches none of the allowed origins of the token': 'die Website ist keine der erlaubten des Tokens',
  'the origin matches none that the self-signed token allows':
    'die Website ist keine, die der selbst signierte Token erlaubt',
  'the token has no allowed addresses': 'der Token nennt keine erlaubten Adressen',
  'IP filters are not checked over RTMP, see rtmpIpFilters':
    'IP-Filter werden über RTMP nicht geprüft, siehe rtmpIpFilters',
  'the address is allowed': 'die Adresse ist erlaubt',
  '{} is in none of the allowed networks of the token': '{} liegt in keinem der erlaubten Netze des Tokens',
  '{} is in none that the self-signed token allows': '{} liegt in keinem, das der selbst signierte Token erlaubt',
  '{} is in none of the allowed networks of the token (address lists are IPv4 only)':
    '{} liegt in keinem der erlaubten Netze des Tokens (Adresslisten gelten nur für IPv4)',
  '{} is in none that the self-signed token allows (address lists are IPv4 only)':
    '{} liegt in keinem, das der selbst signierte Token erlaubt (Adresslisten gelten nur für IPv4)',
  'neither the token nor its account has country rules': 'weder der Token noch sein Konto hat Länderregeln',
  'the country is allowed': 'das Land ist erlaubt',
  'the country is not denied': 'das Land ist nicht ausgeschlossen',
  'the country is not known, and a list of denied countries lets it through':
    'das Land ist nicht bekannt, und eine Liste ausgeschlossener Länder lässt es durch',
  'the country is not known, and only listed countries are allowed':
    'das Land ist nicht bekannt, und nur genannte Länder sind erlaubt',
  '{} is not in the list of allowed countries': '{} steht nicht in der Liste erlaubter Länder',
  '{} is in the list of denied countries': '{} steht in der Liste ausgeschlossener Länder',
  '{} is not in the list of allowed countries of the account':
    '{} steht nicht in der Liste erlaubter Länder des Kontos',
  '{} is in the list of denied countries of the account': '{} steht in der Liste ausgeschlossener Länder des Kontos',
  'the connection is not RTMP': 'die Verbindung ist nicht RTMP',
  'the token has no IP filters': 'der Token hat keine IP-Filter',
  'the configuration has IP filters checked over RTMP': 'laut Konfiguration gelten IP-Filter auch über RTMP',
  'the token has IP filters, which RTMP does not support': 'der Token hat IP-Filter, und RTMP unterstützt keine',
  'the token is good in every region': 'der Token gilt in jeder Region',
  'this node is in the region of the token': 'dieser Knoten ist in der Region des Tokens',
  'the token takes publishers in the region {}, and this node has none':
    'der Token gilt für Sender in der Region {}, und dieser Knoten hat keine',
  'the token takes publishers in the region {}, and this node is in {}':
    'der Token gilt für Sender in der Region {}, und dieser Knoten ist in {}',
  'the token does not bind addresses': 'der Token bindet keine Adressen',
  'the address is bound to the token': 'die Adresse ist an den Token gebunden',
  'the address can still be bound to the token': 'die Adresse kann noch an den Token gebunden werden',
  '{} is not bound and all {} places are taken': '{} ist nicht gebunden, und alle {} Plätze sind vergeben',
  'all places were bound by others meanwhile': 'andere haben inzwischen alle Plätze belegt',
  'redirected to {}': 'weitergeleitet an {}',
  '{}; redirected to {}': '{}; weitergeleitet an {}',
  'all media processes of this node are busy': 'alle Medienprozesse dieses Knotens sind ausgelastet',
  'this node sends {} of {} Mbit/s': 'dieser Knoten sendet {} von {} Mbit/s',
  'the media process of this stream was busy for {} % of the last second':
    'der Medienprozess dieses Streams war {} % der letzten Sekunde ausgelastet',
  'the media process of this stream was busy for {} % of the last second, and is behind with its media':
    'der Medienprozess dieses Streams war {} % der letzten Sekunde ausgelastet und ist mit seinen Medien im Rückstand',
  'now there are {} of {} viewers with the token': 'jetzt sind es {} von {} Zuschauern mit dem Token',
  'now there are {} of {} viewers of the stream': 'jetzt sind es {} von {} Zuschauern des Streams',
  'now there are {} of {} viewers with the tracking id': 'jetzt sind es {} von {} Zuschauern mit der Tracking-ID',
}

const PATTERNS = Object.entries(STEPS).map(([english, german]) => {
  const literal = english.replaceAll(/[.*+?^$()|[\]\\]/g, '\\$&')
  return [new RegExp(`^${literal.replaceAll('{}', '(.+)')}$`), german] as const
})

/** A step of a decision in German. Undefined: this file lacks it, as one of a newer server. */
export function stepDe(detail: string): string | undefined {
  for (const [english, german] of PATTERNS) {
    const values = english.exec(detail)?.slice(1)
    if (values) return values.reduce((text, value) => text.replace('{}', () => value), german)
  }
  return undefined
}
