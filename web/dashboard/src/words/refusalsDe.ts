/**
 * German: the refusals of the server, which have no codes, by their English sentences. `{name}` stands for a value; one that is
 * itself a sentence here is translated too. The first that fits counts, so the general ones come last.
 */
export const refusalsDe: Readonly<Record<string, string>> = {
  // Signing in, users, passkeys
  'Unauthorized: no user has this e-mail address and this password.':
    'Kein Benutzer hat diese E-Mail-Adresse und dieses Passwort.',
  'Unauthorized: this passkey does not open the dashboard, or it took too long.':
    'Dieser Passkey öffnet das Dashboard nicht, oder es hat zu lange gedauert.',
  'Unauthorized: there is no user yet. Open the link that Sluice printed, or run: {command}':
    'Es gibt noch keinen Benutzer. Öffnen Sie den Link, den Sluice gezeigt hat, oder führen Sie aus: {command}',
  'Unauthorized: Your session has ended. Sign in.': 'Ihre Sitzung ist beendet. Melden Sie sich an.',
  'Unauthorized: no link can be made with this any more.': 'Damit lässt sich kein Link mehr machen.',
  'Too many attempts to sign in have failed; try again after the seconds of Retry-After':
    'Zu viele Anmeldungen sind gescheitert. Versuchen Sie es in einer Minute wieder.',
  'This link is not valid. Copy all of it. {another}': 'Dieser Link ist nicht gültig. Kopieren Sie ihn ganz. {another}',
  'This link was used already: each makes one user. Sign in as that user. {another}':
    'Dieser Link wurde schon benutzt: Jeder legt einen Benutzer an. Melden Sie sich als dieser an. {another}',
  'This link is older than {minutes} minutes. {another}, or restart Sluice while it has no user':
    'Dieser Link ist älter als {minutes} Minuten. {another}, oder starten Sie Sluice neu, solange es keinen Benutzer hat',
  'This link makes the first user, and Sluice has a user already. Sign in. {another}':
    'Dieser Link legt den ersten Benutzer an, und Sluice hat schon einen. Melden Sie sich an. {another}',
  'For another link run: sluice user link': 'Für einen anderen Link führen Sie aus: sluice user link',
  'A user with the address {email} exists already': 'Einen Benutzer mit der Adresse {email} gibt es schon',
  'The last admin cannot {what}: make another user an admin first':
    'Der letzte Admin kann nicht {what}: Machen Sie zuerst einen anderen Benutzer zum Admin',
  'become a viewer': 'Betrachter werden',
  'be deleted': 'gelöscht werden',
  'This passkey was not added: try again, and confirm it within 5 minutes':
    'Dieser Passkey wurde nicht hinzugefügt: Versuchen Sie es wieder und bestätigen Sie innerhalb von 5 Minuten',
  'This passkey was not added: it sends certificates, which Sluice did not ask for':
    'Dieser Passkey wurde nicht hinzugefügt: Er sendet Zertifikate, nach denen Sluice nicht gefragt hat',
  'Browsers keep passkeys for names only: open the dashboard at a domain over https, or at localhost':
    'Browser merken sich Passkeys nur für Namen: Öffnen Sie das Dashboard unter einer Domain über https, oder unter localhost',
  'This passkey was added before': 'Dieser Passkey ist schon hinzugefügt',
  'You have {count} passkeys, the most: delete one first':
    'Sie haben {count} Passkeys, mehr gehen nicht: Löschen Sie zuerst einen',
  'Forbidden: this passkey is of another user': 'Dieser Passkey gehört einem anderen Benutzer',
  'Forbidden: your role is viewer, which may look and change nothing':
    'Sie sind Betrachter: Sie sehen alles und ändern nichts',
  'Forbidden: you are no admin any more': 'Sie sind kein Admin mehr',
  'Forbidden: your role is viewer, which may make no links': 'Sie sind Betrachter und können keine Links machen',
  'Forbidden: only admins see this': 'Das sehen nur Admins',
  'Forbidden: the nodes serve several accounts. On one of the machines run: {command}':
    'Die Knoten dienen mehreren Konten. Führen Sie auf einer der Maschinen aus: {command}',
  'is not your password': 'Das ist nicht Ihr Passwort',
  'is needed, or a passkey instead': 'Nötig, oder stattdessen ein Passkey',
  'must be an address like name@example.com': 'muss eine Adresse sein wie name@example.com',

  // What there can be only so many of, or only once
  'Too many users are created at a time; create some later':
    'Es werden zu viele Benutzer auf einmal angelegt; legen Sie die anderen später an',
  'There are {count} users, the most': 'Es gibt {count} Benutzer, mehr gehen nicht',
  'There are {count} API secrets, the most': 'Es gibt {count} API-Secrets, mehr gehen nicht',
  'There are {count} credentials, the most': 'Es gibt {count} Zugangsdaten, mehr gehen nicht',
  'There are {count} webhooks, the most': 'Es gibt {count} Webhooks, mehr gehen nicht',
  'There are {count} ladders, the most': 'Es gibt {count} ABR-Leitern, mehr gehen nicht',
  'There are {count} schedulers, the most': 'Es gibt {count} Zeitpläne, mehr gehen nicht',
  'There are {count} pulls, the most': 'Es gibt {count} Quellen, mehr gehen nicht',
  'A distribution has at most {count} keys; delete one first':
    'Eine Distribution hat höchstens {count} Schlüssel; löschen Sie zuerst einen',
  'A channel has at most {most} {what}; there are {count}':
    'Ein Kanal hat davon höchstens {most} ({what}); es sind {count}',
  'An API secret named {name} exists already': 'Ein API-Secret mit dem Namen {name} gibt es schon',
  'Another channel of this account has one of these externalIds':
    'Ein anderer Kanal dieses Kontos hat eine dieser externalIds',

  // What is gone
  'No {kind} token with id: {id}': 'Diesen Token gibt es nicht mehr: {id}',
  'No token with id: {id}': 'Diesen Token gibt es nicht: {id}',
  'No {what} with id: {id}': 'Das gibt es nicht mehr (Id {id})',
  'There is no {what} with the id {id}': 'Das gibt es nicht mehr (Id {id})',
  'there is no ladder {id}; GET /v2/abr lists them': 'Die ABR-Leiter {id} gibt es nicht',
  'there is no channel {id}': 'Den Kanal {id} gibt es nicht',
  'the channel has no engine {ids}': 'Der Kanal hat keine Engine {ids}',
  'You have no {what} with id: {id}': 'Das haben Sie nicht mehr (Id {id})',
  'No stream of this name is on the air': 'Kein Stream dieses Namens ist auf Sendung',
  'No stream of this account has this id': 'Kein Stream dieses Kontos hat diese Id',
  'Nothing is at {path}': 'Unter {path} ist nichts',

  // What has to wait for something else
  'This delivery has not ended yet; wait for it': 'Diese Zustellung läuft noch; warten Sie, bis sie zu Ende ist',
  'This webhook is paused until {time}: update it with reEnable first, then test it':
    'Dieser Webhook pausiert bis {time}: Beenden Sie zuerst die Pause, dann testen Sie ihn',
  'This recording is not complete: {state}': 'Diese Aufnahme ist nicht vollständig: {state}',
  'This recording is not complete; end the stream and wait until it is':
    'Diese Aufnahme ist nicht vollständig; beenden Sie den Stream und warten Sie, bis sie es ist',
  'This recording has no thumbnail: it has no video, or is older than thumbnails':
    'Diese Aufnahme hat kein Vorschaubild: Sie hat kein Video oder ist älter als die Vorschaubilder',
  'The file of this recording is at another node, on {machine}: fetch it there':
    'Die Datei dieser Aufnahme liegt bei einem anderen Knoten, auf {machine}: Holen Sie sie dort',
  'The channel runs ({what}); stop it first: POST {path}': 'Der Kanal läuft; halten Sie ihn zuerst an',
  'The engine is {status}; stop it first: POST {path}': 'Die Engine läuft; halten Sie sie zuerst an',
  'The ingest is in use: {why}': 'Der Ingest wird benutzt; halten Sie zuerst den Kanal an',
  'The engine {engine} of the channel {channel} uses it': 'Die Engine {engine} des Kanals {channel} benutzt sie',
  'The default ladder is part of Sluice; create one of your own':
    'Die vorgegebene ABR-Leiter gehört zu Sluice; legen Sie eine eigene an',
  'This channel has no engine with an ingest, so there is nothing to start':
    'Dieser Kanal hat keine Engine mit einem Ingest, also gibt es nichts zu starten',
  'This engine has no ingest, so there is nothing that it could work on':
    'Diese Engine hat keinen Ingest, also hat sie nichts zu tun',
  'The scheduler "{name}" is active; stop it to change {fields}':
    'Der Zeitplan „{name}“ ist eingeschaltet; halten Sie ihn an, um das zu ändern: {fields}',
  'The scheduler "{name}" is active: {how}': 'Der Zeitplan „{name}“ ist eingeschaltet; halten Sie ihn zuerst an',
  'The scheduler "{name}" is {status}, not active': 'Der Zeitplan „{name}“ ist nicht eingeschaltet',
  'The scheduler "{name}" is through: nothing of it is to come':
    'Der Zeitplan „{name}“ ist vorbei: Es kommt nichts mehr',
  'There is nothing to start: {nothing}': 'Es gibt nichts zu starten: Keiner seiner Kanäle hat eine Engine mit Ingest',
  'The webhook "{name}" is active: {how}': 'Der Webhook „{name}“ ist eingeschaltet; schalten Sie ihn zuerst aus',
  'This credential may not read secrets (its scope is read)': 'Diese Zugangsdaten dürfen Secrets nicht lesen',
  'This key is the public half of a pair: tokens are signed where the private half is':
    'Dieser Schlüssel ist die öffentliche Hälfte eines Paars: Tokens werden signiert, wo die private liegt',
  'Only push ingests have a stream key; this one is {type}':
    'Einen Streamschlüssel haben nur Ingests, zu denen gesendet wird; dieser ist {type}',
  'A backup is being made': 'Eine Sicherung wird gerade gemacht',
  'The backup is being fetched by another request': 'Die Sicherung wird gerade schon heruntergeladen',
  'There is no backup: POST {path}': 'Es gibt keine Sicherung',
  'The data is in PostgreSQL: run `sluice backup FILE` where pg_dump is installed, or use the backups of your database server':
    'Die Daten liegen in PostgreSQL: Führen Sie `sluice backup FILE` aus, wo es pg_dump gibt, oder sichern Sie mit dem Datenbankserver',
  'Forbidden: a backup has the password hashes of users; an admin fetches it in the dashboard':
    'Eine Sicherung enthält die Passwort-Hashes der Benutzer; ein Admin lädt sie im Dashboard herunter',
  'The checks have not ended within a minute. They go on: look again later.':
    'Die Prüfungen sind nach einer Minute nicht zu Ende. Sie laufen weiter: Sehen Sie später wieder nach.',
  'The node did not answer within 50 seconds. If it runs its checks, they go on: look again later. Else its log says why.':
    'Der Knoten hat 50 Sekunden lang nicht geantwortet. Laufende Prüfungen gehen weiter: Sehen Sie später nach. Sonst sagt sein Log, warum.',
  'The node did not answer within {seconds} seconds; its log says why':
    'Der Knoten hat {seconds} Sekunden lang nicht geantwortet; sein Log sagt, warum',
  'The node runs a version that does not have this report.': 'Der Knoten hat eine Version ohne diesen Bericht.',
  'Nothing was changed: {why}': 'Nichts wurde geändert: {why}',
  'The store cannot be reached now; nothing was changed. Try again.':
    'Die Datenbank ist gerade nicht erreichbar; nichts wurde geändert. Versuchen Sie es wieder.',
  'The store was lost while it wrote. Before you try again, look whether it was changed.':
    'Die Datenbank ging beim Schreiben verloren. Sehen Sie nach, ob es geändert wurde, bevor Sie es wieder versuchen.',
  'Internal error': 'Ein Fehler in Sluice; das Log des Servers sagt mehr.',
  'Too many requests': 'Zu viele Anfragen. Versuchen Sie es gleich wieder.',
  'Too many event streams are open: close other pages of the dashboard':
    'Zu viele Seiten des Dashboards sind offen: Schließen Sie andere',
  'Too many streams: ask for less time': 'Zu viele Streams: Fragen Sie nach weniger Zeit',
  'More than {count} rows: ask for less time': 'Mehr als {count} Zeilen: Fragen Sie nach weniger Zeit',
  'More than {count} broadcasts: ask for less time': 'Mehr als {count} Sendungen: Fragen Sie nach weniger Zeit',

  // Tokens and what they sign
  'This token is not active, so that what it signs admits no client.':
    'Dieser Token ist abgeschaltet: Was er signiert, lässt niemanden zu.',
  'This token has expired, so that what it signs admits no client.':
    'Dieser Token ist abgelaufen: Was er signiert, lässt niemanden zu.',
  'Tokens issued before {time} are revoked: sign then.':
    'Vor {time} ausgestellte Tokens sind widerrufen: Signieren Sie danach.',
  'This token has {count} revoked jtis, the most that are kept; revoke by issuedBefore instead.':
    'Dieser Token hat {count} widerrufene Ids, mehr gehen nicht; widerrufen Sie nach dem Ausstellungsdatum.',
  'must be that of this token, if it is there': 'muss, wenn sie da ist, die dieses Tokens sein',
  'must be a stream that this token covers': 'muss ein Stream sein, für den dieser Token gilt',
  'must be a stream that publish token {id} may publish': 'muss ein Stream sein, den Publish-Token {id} senden darf',
  'was revoked; send another one': 'wurde widerrufen; nehmen Sie eine andere',
  'must not be in the future': 'darf nicht in der Zukunft liegen',
  'the token has no stream {name}': 'Der Token hat keinen Stream {name}',
  'the token has {name} already': 'Der Token hat {name} schon',
  'at least one stream must be left; add one in the same body': 'Wenigstens ein Stream muss bleiben',
  'the token would have {count} streams; at most {most} are allowed':
    'Der Token hätte {count} Streams; {most} sind möglich',
  '{name} is listed twice; names are unique within a token': '{name} steht zweimal da; jeder Name nur einmal',
  'allowedCountries and deniedCountries exclude each other; {how}':
    'Erlaubte und gesperrte Länder schließen einander aus',
  'excludes {other}, which the token has; {how}': 'schließt {other} aus, die der Token hat',
  'cannot be changed after creation; create another token':
    'lässt sich später nicht ändern; legen Sie einen anderen Token an',
  'No properties specified to update.': 'Es gibt nichts zu ändern.',
  'the pattern is too large to compile': 'Das Muster ist zu groß',
  'the pattern is too costly: it compiles to {size} steps, at most {most} are allowed; use smaller repeat counts':
    'Das Muster ist zu aufwendig: {size} Schritte, {most} sind möglich; nehmen Sie kleinere Wiederholungen',
  '{which} compile to more than {most} steps together; use fewer, or smaller repeat counts':
    '{which} haben zusammen mehr als {most} Schritte; nehmen Sie weniger oder kleinere Wiederholungen',
  patterns: 'Die Muster',
  'the filters of the account': 'Die Filter des Kontos',
  'look-around is not supported in RE2 syntax, at character {at}: {part}':
    'RE2-Muster haben kein Look-around, an Zeichen {at}: {part}',
  'back-references are not supported in RE2 syntax, at character {at}: {part}':
    'RE2-Muster haben keine Rückverweise, an Zeichen {at}: {part}',
  'not a valid RE2 pattern, at character {at}: {why}': 'Das ist kein RE2-Muster, an Zeichen {at}: {why}',
  'duplicate capture group name: {part}': 'zwei Gruppen haben einen Namen: {part}',
  'invalid capture in lookbehind: {part}': 'eine Gruppe, wo keine sein kann: {part}',
  'invalid character class range: {part}': 'kein Bereich von Zeichen: {part}',
  'invalid escape sequence: {part}': 'diesen Backslash kennt RE2 nicht: {part}',
  'invalid escape sequence': 'diesen Backslash kennt RE2 nicht',
  'invalid named capture: {part}': 'kein Name einer Gruppe: {part}',
  'invalid named capture': 'kein Name einer Gruppe',
  'invalid or unsupported Perl syntax: {part}': 'das kennt RE2 nicht: {part}',
  'invalid or unsupported Perl syntax': 'das kennt RE2 nicht',
  'invalid nested repetition operator: {part}': 'eine Wiederholung auf einer Wiederholung: {part}',
  'invalid repeat count: {part}': 'keine Zahl von Wiederholungen: {part}',
  'missing argument to repetition operator: {part}': 'vor der Wiederholung steht nichts: {part}',
  'missing argument to repetition operator': 'vor der Wiederholung steht nichts',
  'missing closing ]: {part}': 'eine eckige Klammer wird nicht geschlossen: {part}',
  'missing closing )': 'eine Klammer wird nicht geschlossen',
  'unexpected )': 'eine schließende Klammer ohne öffnende',
  'trailing backslash at end of expression': 'ein Backslash am Ende',
  'expression nests too deeply': 'zu tief verschachtelt',
  'expression too large': 'zu groß',
  'must not be . or .., which no URL can have in its path': 'darf nicht . oder .. sein, was kein Pfad enthalten kann',
  'must be the id of a token, a whole number from 1 on': 'muss die Id eines Tokens sein, eine ganze Zahl ab 1',
  'must be even': 'muss gerade sein',
  'there are two renditions with a height of {height}': 'Es gibt zwei Renditions mit der Höhe {height}',

  // Addresses, sites, countries
  'the prefix length after the slash must be a number from 0 to 32': 'Die Zahl nach dem Schrägstrich geht von 0 bis 32',
  'IPv6 is not supported here; {allowed}': 'IPv6 ist hier nicht möglich; {allowed}',
  'wildcards are not supported; {allowed}': 'Platzhalter sind nicht möglich; {allowed}',
  'ranges are not supported; {allowed}': 'Bereiche sind nicht möglich; {allowed}',
  'not an IPv4 address in dotted decimal without leading zeros; {allowed}':
    'Das ist keine IPv4-Adresse ohne führende Nullen; {allowed}',
  'an IPv4 address (192.0.2.7) or an IPv4 network (192.0.2.0/24) is allowed':
    'möglich ist eine IPv4-Adresse (192.0.2.7) oder ein IPv4-Netz (192.0.2.0/24)',
  'must be an IPv4 or IPv6 address': 'muss eine IPv4- oder IPv6-Adresse sein',
  'must be an address or a network such as 198.51.100.0/24 or 2001:db8::/32':
    'muss eine Adresse oder ein Netz sein wie 198.51.100.0/24 oder 2001:db8::/32',
  'must be written as IPv4: {address}': 'muss als IPv4 geschrieben sein: {address}',
  'has a prefix that is not from 0 to {most}': 'hat ein Präfix, das nicht von 0 bis {most} reicht',
  'host, *.host, scheme://host or scheme://host:port is allowed':
    'möglich ist host, *.host, schema://host oder schema://host:port',
  'the host is not a valid domain name or address; {form}': 'Der Host ist kein Domainname und keine Adresse; {form}',
  'an IP address has no subdomains': 'Eine IP-Adresse hat keine Subdomains',
  'a wildcard is for http and https only': 'Platzhalter gibt es nur mit http und https',
  'the port must be a number from 1 to 65535 without leading zeros':
    'Der Port muss eine Zahl von 1 bis 65535 ohne führende Nullen sein',
  'a bare * is not supported, leave the list empty to allow every origin; {form}':
    'Ein bloßer * ist nicht möglich; lassen Sie die Liste leer, um jede Website zu erlauben; {form}',
  'a wildcard may only stand for the whole left part, as in *.example.com; {form}':
    'Ein Platzhalter kann nur für den ganzen linken Teil stehen, wie in *.example.com; {form}',
  'user information is not part of an origin; {form}': 'Zu einer Website gehört kein Benutzer; {form}',
  'a path, query or fragment is not part of an origin; {form}': 'Zu einer Website gehört kein Pfad; {form}',
  'the null origin of sandboxed pages names no site, so it cannot be allowed; {form}':
    'Die Herkunft null nennt keine Website und lässt sich nicht erlauben; {form}',
  'is not an origin; {form}': 'Das ist keine Website; {form}',
  'is longer than {most} characters after IDNA': 'ist nach IDNA länger als {most} Zeichen',
  'must be a host such as www.example.com or localhost:3000':
    'muss ein Host sein wie www.example.com oder localhost:3000',
  'must be a two-letter ISO 3166-1 country code, such as DE':
    'muss ein Ländercode aus zwei Buchstaben sein (ISO 3166-1), wie DE',
  '{code} is not an assigned ISO 3166-1 country code; the United Kingdom is GB':
    '{code} ist kein Ländercode nach ISO 3166-1; das Vereinigte Königreich ist GB',
  '{code} is not an assigned ISO 3166-1 country code': '{code} ist kein Ländercode nach ISO 3166-1',

  // Addresses of webhooks, targets and sources
  'must be an absolute URL, such as https://hooks.example.com/sluice':
    'muss eine ganze Adresse sein, wie https://hooks.example.com/sluice',
  'must be at most {most} characters long': 'darf höchstens {most} Zeichen lang sein',
  'must not contain spaces, control characters or backslashes':
    'darf keine Leerzeichen, Steuerzeichen oder Backslashes enthalten',
  'must not contain a user name or a password': 'darf keinen Benutzer und kein Passwort enthalten',
  'must not contain a fragment (#)': 'darf kein Fragment enthalten (#)',
  'must name a valid host': 'muss einen gültigen Host nennen',
  'must lead to a public address; {host} is not one {others}':
    'muss zu einer öffentlichen Adresse führen; {host} ist keine {others}',
  'must lead to a public host; the name {host} is a private one {others}':
    'muss zu einem öffentlichen Host führen; {host} ist ein privater Name {others}',
  '(the setting `{setting}` allows others)': '(die Einstellung `{setting}` erlaubt andere)',
  'must not use port {port}': 'darf Port {port} nicht benutzen',
  'must not lead to this server: its media would go in a circle':
    'darf nicht zu diesem Server führen: Die Medien liefen im Kreis',
  'must not lead to this server': 'darf nicht zu diesem Server führen',
  'must name an application and a stream: rtmp://host/app/stream':
    'muss eine Anwendung und einen Stream nennen: rtmp://host/app/stream',
  'must name an application: rtmp://host/app': 'muss eine Anwendung nennen: rtmp://host/app',
  'must name an endpoint: {example}': 'muss einen Endpunkt nennen: {example}',
  'must have a token behind a colon: {example}': 'muss hinter einem Doppelpunkt einen Token haben: {example}',
  'must name the user of its password': 'muss den Benutzer zum Passwort nennen',
  'must have a path: rtsp://host/path': 'muss einen Pfad haben: rtsp://host/path',
  'must have a port: srt://host:9000': 'muss einen Port haben: srt://host:9000',
  'must not have a path: SRT names its stream in streamid': 'darf keinen Pfad haben: SRT nennt den Stream in streamid',
  'must have a streamid of 1 to {most} bytes': 'muss eine streamid von 1 bis {most} Bytes haben',
  'must have a passphrase of 10 to 79 letters, digits, hyphens and underscores':
    'muss eine passphrase aus 10 bis 79 Buchstaben, Ziffern, Binde- und Unterstrichen haben',
  'must have a latency of 0 to {most} milliseconds': 'muss eine latency von 0 bis {most} Millisekunden haben',
  'must have a pbkeylen of 16, 24 or 32 bytes': 'muss eine pbkeylen von 16, 24 oder 32 Bytes haben',
  'must have the mode caller, or none': 'muss den mode caller haben oder keinen',
  'must not set {name}; SRT addresses have {names}': 'darf {name} nicht setzen; SRT-Adressen haben {names}',
  'must not set {name} twice': 'darf {name} nicht zweimal setzen',
  'must begin with {right} in place of {wrong} if it is a source of WHEP':
    'muss mit {right} statt mit {wrong} beginnen, wenn es eine WHEP-Quelle ist',
  'must begin with https:// (the setting `{setting}` allows http://)':
    'muss mit https:// beginnen (die Einstellung `{setting}` erlaubt http://)',
  'must begin with {schemes}': 'muss so beginnen: {schemes}',
  'must be empty: the secrets of SRT and RTSP are in the url':
    'muss leer sein: Die Secrets von SRT und RTSP stehen in der Adresse',
  'is not the one that the record shows: send the whole of it':
    'ist nicht die gezeigte: Schreiben Sie die ganze Adresse',
  'has the end of a key, of no target with this URL; send the whole key':
    'endet wie ein gezeigter Schlüssel, aber kein Ziel hat diese Adresse; schreiben Sie den ganzen',
  'has the end of a secret; {how}': 'enthält das gezeigte Ende eines Secrets; schreiben Sie es ganz',

  // Channels
  'must be a language tag (RFC 5646), such as en or pt-BR': 'muss eine Sprache nach RFC 5646 sein, wie de oder pt-BR',
  'must not contain quotation marks or control characters': 'darf keine Anführungs- und Steuerzeichen enthalten',
  'is required with more than one track': 'ist bei mehreren Spuren nötig',
  '{type} has one audio track; several are for {types}': '{type} hat eine Tonspur; mehrere gehen mit {types}',
  'must be the {what}: a whole number from {min} to {max}': 'muss eine ganze Zahl von {min} bis {max} sein ({what})',
  'its {what} ({min} to {max})': 'eine ganze Zahl von {min} bis {max} ({what})',
  'must be a date that exists, as YYYY-MM-DD': 'muss ein Datum sein, das es gibt, als JJJJ-MM-TT',
  'must be a time of the day, as HH:mm': 'muss eine Uhrzeit sein, als HH:mm',
  'must name a zone of the IANA database, such as Europe/Vienna or UTC':
    'muss eine Zeitzone sein, wie Europe/Vienna oder UTC',
  'is needed beside endDate, unless there is a recurrence': 'ist neben dem Enddatum nötig, außer mit Wiederholung',
  'must not lie before the start': 'darf nicht vor dem Beginn liegen',
  'must lie in the future': 'muss in der Zukunft liegen',
  'would never begin': 'würde nie beginnen',
  '"{part}" is no NAME=VALUE': '„{part}“ ist kein NAME=WERT',
  '{name} is not supported; the parts are {names}': '{name} gibt es nicht; möglich sind {names}',
  '{name} is given twice': '{name} steht zweimal da',
  'FREQ must be one of {frequencies}': 'FREQ muss eines davon sein: {frequencies}',
  'COUNT and UNTIL exclude each other': 'COUNT und UNTIL schließen einander aus',
  'BYMONTHDAY cannot stand beside FREQ=WEEKLY': 'BYMONTHDAY geht nicht mit FREQ=WEEKLY',
  'BYDAY with a number, such as 1MO, needs FREQ=MONTHLY': 'BYDAY mit einer Zahl, wie 1MO, braucht FREQ=MONTHLY',
  '{name} must be a whole number from 1 to {max}': '{name} muss eine ganze Zahl von 1 bis {max} sein',
  '{name} must name a day: {days}': '{name} muss einen Tag nennen: {days}',
  'BYDAY: "{value}" is no day such as MO, 1MO or -1FR': 'BYDAY: „{value}“ ist kein Tag wie MO, 1MO oder -1FR',
  'BYMONTHDAY must hold days from 1 to 31, or from -31 to -1':
    'BYMONTHDAY muss Tage von 1 bis 31 oder von -31 bis -1 haben',
  'UNTIL must be a date such as 20301231 or a moment such as 20301231T235959Z':
    'UNTIL muss ein Datum wie 20301231 oder ein Zeitpunkt wie 20301231T235959Z sein',
  'UNTIL names a day that does not exist': 'UNTIL nennt einen Tag, den es nicht gibt',
  'A slate may have at most {most} bytes; this one has {bytes}':
    'Ein Standbild darf höchstens {most} Bytes haben; dieses hat {bytes}',
  'The content is none of these: {allowed}': 'Die Datei ist nichts davon: {allowed}',
  'a slate is a JPEG, a PNG or an MP4 ({types})': 'ein JPEG, ein PNG oder ein MP4',
  'it must have at least {pixels} pixels on each side': 'jede Seite braucht mindestens {pixels} Pixel',
  'The {what} may have at most {most} pixels on each side': 'Jede Seite darf höchstens {most} Pixel haben',
  'The clip may play for at most {most} seconds': 'Der Clip darf höchstens {most} Sekunden dauern',
  'The {what} cannot be used: {why}': 'Die Datei ist nicht brauchbar: {why}',
  'The {what} cannot be checked now: {why}': 'Die Datei lässt sich gerade nicht prüfen: {why}',
  'must be 0 (never) or at least {least} seconds': 'muss 0 (nie) oder mindestens {least} Sekunden sein',

  // Times, names, and the rest of what forms send
  'must not be after until': 'darf nicht nach dem Ende liegen',
  'must be later than startDate; it is exclusive': 'muss nach dem Beginn liegen',
  'must be at most {days} days after startDate': 'darf höchstens {days} Tage nach dem Beginn liegen',
  'must be at most 31 days before until': 'darf höchstens 31 Tage vor dem Ende liegen',
  'must be a date and time that exists, from 1970 on': 'muss ein Zeitpunkt sein, den es gibt, ab 1970',
  'must be before the year 3000': 'muss vor dem Jahr 3000 liegen',
  'must have 1 to {most} characters': 'muss 1 bis {most} Zeichen haben',
  'must have {least} to {most} characters': 'muss {least} bis {most} Zeichen haben',
  'must have at most {most} characters': 'darf höchstens {most} Zeichen haben',
  'must be 1 to {most} characters': 'muss 1 bis {most} Zeichen haben',
  'must be a string of at most {most} characters': 'darf höchstens {most} Zeichen haben',
  'must not contain control characters': 'darf keine Steuerzeichen enthalten',
  'must be well-formed Unicode (it has half of a surrogate pair)': 'muss gültiges Unicode sein',
  'must have a character that can be seen': 'muss ein Zeichen haben, das man sieht',
  'must be plain text': 'muss einfacher Text sein',
  'is listed twice': 'steht zweimal da',
  'is required: {allowed}': 'fehlt: {allowed}',
  'is required, one of {words}': 'fehlt, eines davon: {words}',
  'is required': 'fehlt',
  '{name} is not built: {why}': '{name} gibt es hier nicht',
  'may be given once': 'darf nur einmal da sein',
  'name {problem}': 'Name: {problem}',
  'email {problem}': 'E-Mail: {problem}',
  'password {problem}': 'Passwort: {problem}',
  'must be {allowed}; it has {count}': 'muss sein: {allowed}; es sind {count}',
  'must be one of {words}': 'muss eines davon sein: {words}',
  'must be true or false': 'muss true oder false sein',
  'must be {allowed}': 'muss sein: {allowed}',
  'a string of {from} to {to} characters': 'Text von {from} bis {to} Zeichen',
  'a list of {from} to {to} entries': 'eine Liste von {from} bis {to} Einträgen',
  'a whole number from {from} to {to}': 'eine ganze Zahl von {from} bis {to}',
  'a date and time with an offset (RFC 3339), such as {example}': 'Datum und Uhrzeit mit Zone, wie {example}',
}
