/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Time zones for CronJobs: the rules in force by the IANA database 2025b, the last line of each
 * zone's file, so that no run depends on the files of its machine. A zone has an offset, another
 * one between two changes of a year, and the changes by month, week and weekday. Rules of earlier
 * years are left out. */
#include "models/api/workloads/time-zones.h"

#include <string.h>

/* A clock is put on or back: on the last (week 5) or another weekday (0: Sunday) of a month, so
 * many minutes after the midnight of the clock in use. Month 0: never. */
typedef struct {
    int8_t month, week, weekday;
    int16_t minute;
} TimeZonesChange;

struct TimeZone {
    int16_t offset, other; /* minutes east of UTC; the other one from @begin to @end */
    TimeZonesChange begin, end;
    const char *names; /* with blanks between them */
};

/* The rules that are in force by the IANA time zone database 2025b (public domain): the last line
 * of each zone's file. */
/* clang-format off */
static const TimeZone zones[] = {
    {-720, -720, {0}, {0}, "Etc/GMT+12"},
    {-660, -660, {0}, {0},
     "Etc/GMT+11 Pacific/Midway Pacific/Niue Pacific/Pago_Pago Pacific/Samoa US/Samoa"},
    {-600, -600, {0}, {0},
     "Etc/GMT+10 HST Pacific/Honolulu Pacific/Johnston Pacific/Rarotonga Pacific/Tahiti "
     "US/Hawaii"},
    {-600, -540, {3, 2, 0, 120}, {11, 1, 0, 120}, "America/Adak America/Atka US/Aleutian"},
    {-570, -570, {0}, {0}, "Pacific/Marquesas"},
    {-540, -540, {0}, {0}, "Etc/GMT+9 Pacific/Gambier"},
    {-540, -480, {3, 2, 0, 120}, {11, 1, 0, 120},
     "America/Anchorage America/Juneau America/Metlakatla America/Nome America/Sitka "
     "America/Yakutat US/Alaska"},
    {-480, -480, {0}, {0}, "Etc/GMT+8 Pacific/Pitcairn"},
    {-480, -420, {3, 2, 0, 120}, {11, 1, 0, 120},
     "America/Ensenada America/Los_Angeles America/Santa_Isabel America/Tijuana "
     "America/Vancouver Canada/Pacific Mexico/BajaNorte PST8PDT US/Pacific"},
    {-420, -420, {0}, {0},
     "America/Creston America/Dawson America/Dawson_Creek America/Fort_Nelson "
     "America/Hermosillo America/Mazatlan America/Phoenix America/Whitehorse Canada/Yukon "
     "Etc/GMT+7 MST Mexico/BajaSur US/Arizona"},
    {-420, -360, {3, 2, 0, 120}, {11, 1, 0, 120},
     "America/Boise America/Cambridge_Bay America/Ciudad_Juarez America/Denver "
     "America/Edmonton America/Inuvik America/Shiprock America/Yellowknife Canada/Mountain "
     "MST7MDT Navajo US/Mountain"},
    {-360, -360, {0}, {0},
     "America/Bahia_Banderas America/Belize America/Chihuahua America/Costa_Rica "
     "America/El_Salvador America/Guatemala America/Managua America/Merida "
     "America/Mexico_City America/Monterrey America/Regina America/Swift_Current "
     "America/Tegucigalpa Canada/Saskatchewan Etc/GMT+6 Mexico/General Pacific/Galapagos"},
    {-360, -300, {3, 2, 0, 120}, {11, 1, 0, 120},
     "America/Chicago America/Indiana/Knox America/Indiana/Tell_City America/Knox_IN "
     "America/Matamoros America/Menominee America/North_Dakota/Beulah "
     "America/North_Dakota/Center America/North_Dakota/New_Salem America/Ojinaga "
     "America/Rainy_River America/Rankin_Inlet America/Resolute America/Winnipeg CST6CDT "
     "Canada/Central US/Central US/Indiana-Starke"},
    {-360, -300, {9, 1, 6, 1320}, {4, 1, 6, 1320}, "Chile/EasterIsland Pacific/Easter"},
    {-300, -300, {0}, {0},
     "America/Atikokan America/Bogota America/Cancun America/Cayman America/Coral_Harbour "
     "America/Eirunepe America/Guayaquil America/Jamaica America/Lima America/Panama "
     "America/Porto_Acre America/Rio_Branco Brazil/Acre EST Etc/GMT+5 Jamaica"},
    {-300, -240, {3, 2, 0, 0}, {11, 1, 0, 60}, "America/Havana Cuba"},
    {-300, -240, {3, 2, 0, 120}, {11, 1, 0, 120},
     "America/Detroit America/Fort_Wayne America/Grand_Turk America/Indiana/Indianapolis "
     "America/Indiana/Marengo America/Indiana/Petersburg America/Indiana/Vevay "
     "America/Indiana/Vincennes America/Indiana/Winamac America/Indianapolis "
     "America/Iqaluit America/Kentucky/Louisville America/Kentucky/Monticello "
     "America/Louisville America/Montreal America/Nassau America/New_York America/Nipigon "
     "America/Pangnirtung America/Port-au-Prince America/Thunder_Bay America/Toronto "
     "Canada/Eastern EST5EDT US/East-Indiana US/Eastern US/Michigan"},
    {-240, -240, {0}, {0},
     "America/Anguilla America/Antigua America/Aruba America/Barbados America/Blanc-Sablon "
     "America/Boa_Vista America/Campo_Grande America/Caracas America/Cuiaba America/Curacao "
     "America/Dominica America/Grenada America/Guadeloupe America/Guyana America/Kralendijk "
     "America/La_Paz America/Lower_Princes America/Manaus America/Marigot "
     "America/Martinique America/Montserrat America/Port_of_Spain America/Porto_Velho "
     "America/Puerto_Rico America/Santo_Domingo America/St_Barthelemy America/St_Kitts "
     "America/St_Lucia America/St_Thomas America/St_Vincent America/Tortola America/Virgin "
     "Brazil/West Etc/GMT+4"},
    {-240, -180, {3, 2, 0, 120}, {11, 1, 0, 120},
     "America/Glace_Bay America/Goose_Bay America/Halifax America/Moncton America/Thule "
     "Atlantic/Bermuda Canada/Atlantic"},
    {-240, -180, {9, 1, 6, 1440}, {4, 1, 6, 1440}, "America/Santiago Chile/Continental"},
    {-210, -150, {3, 2, 0, 120}, {11, 1, 0, 120}, "America/St_Johns Canada/Newfoundland"},
    {-180, -180, {0}, {0},
     "America/Araguaina America/Argentina/Buenos_Aires America/Argentina/Catamarca "
     "America/Argentina/ComodRivadavia America/Argentina/Cordoba America/Argentina/Jujuy "
     "America/Argentina/La_Rioja America/Argentina/Mendoza America/Argentina/Rio_Gallegos "
     "America/Argentina/Salta America/Argentina/San_Juan America/Argentina/San_Luis "
     "America/Argentina/Tucuman America/Argentina/Ushuaia America/Asuncion America/Bahia "
     "America/Belem America/Buenos_Aires America/Catamarca America/Cayenne America/Cordoba "
     "America/Coyhaique America/Fortaleza America/Jujuy America/Maceio America/Mendoza "
     "America/Montevideo America/Paramaribo America/Punta_Arenas America/Recife "
     "America/Rosario America/Santarem America/Sao_Paulo Antarctica/Palmer "
     "Antarctica/Rothera Atlantic/Stanley Brazil/East Etc/GMT+3"},
    {-180, -120, {3, 2, 0, 120}, {11, 1, 0, 120}, "America/Miquelon"},
    {-120, -120, {0}, {0}, "America/Noronha Atlantic/South_Georgia Brazil/DeNoronha Etc/GMT+2"},
    {-120, -60, {3, 5, 0, -60}, {10, 5, 0, 0},
     "America/Godthab America/Nuuk America/Scoresbysund"},
    {-60, -60, {0}, {0}, "Atlantic/Cape_Verde Etc/GMT+1"},
    {-60, 0, {3, 5, 0, 0}, {10, 5, 0, 60}, "Atlantic/Azores"},
    {0, 0, {0}, {0},
     "Africa/Abidjan Africa/Accra Africa/Bamako Africa/Banjul Africa/Bissau Africa/Conakry "
     "Africa/Dakar Africa/Freetown Africa/Lome Africa/Monrovia Africa/Nouakchott "
     "Africa/Ouagadougou Africa/Sao_Tome Africa/Timbuktu America/Danmarkshavn "
     "Atlantic/Reykjavik Atlantic/St_Helena Etc/GMT Etc/GMT+0 Etc/GMT-0 Etc/GMT0 "
     "Etc/Greenwich Etc/UCT Etc/UTC Etc/Universal Etc/Zulu GMT GMT+0 GMT-0 GMT0 Greenwich "
     "Iceland UCT UTC Universal Zulu"},
    {0, 120, {3, 5, 0, 60}, {10, 5, 0, 180}, "Antarctica/Troll"},
    {0, 60, {3, 5, 0, 60}, {10, 5, 0, 120},
     "Atlantic/Canary Atlantic/Faeroe Atlantic/Faroe Atlantic/Madeira Europe/Belfast "
     "Europe/Guernsey Europe/Isle_of_Man Europe/Jersey Europe/Lisbon Europe/London GB "
     "GB-Eire Portugal WET"},
    {60, 60, {0}, {0},
     "Africa/Algiers Africa/Bangui Africa/Brazzaville Africa/Casablanca Africa/Douala "
     "Africa/El_Aaiun Africa/Kinshasa Africa/Lagos Africa/Libreville Africa/Luanda "
     "Africa/Malabo Africa/Ndjamena Africa/Niamey Africa/Porto-Novo Africa/Tunis Etc/GMT-1"},
    {60, 0, {10, 5, 0, 120}, {3, 5, 0, 60}, "Eire Europe/Dublin"},
    {60, 120, {3, 5, 0, 120}, {10, 5, 0, 180},
     "Africa/Ceuta Arctic/Longyearbyen Atlantic/Jan_Mayen CET Europe/Amsterdam "
     "Europe/Andorra Europe/Belgrade Europe/Berlin Europe/Bratislava Europe/Brussels "
     "Europe/Budapest Europe/Busingen Europe/Copenhagen Europe/Gibraltar Europe/Ljubljana "
     "Europe/Luxembourg Europe/Madrid Europe/Malta Europe/Monaco Europe/Oslo Europe/Paris "
     "Europe/Podgorica Europe/Prague Europe/Rome Europe/San_Marino Europe/Sarajevo "
     "Europe/Skopje Europe/Stockholm Europe/Tirane Europe/Vaduz Europe/Vatican "
     "Europe/Vienna Europe/Warsaw Europe/Zagreb Europe/Zurich MET Poland"},
    {120, 120, {0}, {0},
     "Africa/Blantyre Africa/Bujumbura Africa/Gaborone Africa/Harare Africa/Johannesburg "
     "Africa/Juba Africa/Khartoum Africa/Kigali Africa/Lubumbashi Africa/Lusaka "
     "Africa/Maputo Africa/Maseru Africa/Mbabane Africa/Tripoli Africa/Windhoek Etc/GMT-2 "
     "Europe/Kaliningrad Libya"},
    {120, 180, {3, 4, 4, 1560}, {10, 5, 0, 120}, "Asia/Jerusalem Asia/Tel_Aviv Israel"},
    {120, 180, {3, 4, 4, 3000}, {10, 4, 4, 3000}, "Asia/Gaza Asia/Hebron"},
    {120, 180, {3, 5, 0, 0}, {10, 5, 0, 0}, "Asia/Beirut"},
    {120, 180, {3, 5, 0, 120}, {10, 5, 0, 180}, "Europe/Chisinau Europe/Tiraspol"},
    {120, 180, {3, 5, 0, 180}, {10, 5, 0, 240},
     "Asia/Famagusta Asia/Nicosia EET Europe/Athens Europe/Bucharest Europe/Helsinki "
     "Europe/Kiev Europe/Kyiv Europe/Mariehamn Europe/Nicosia Europe/Riga Europe/Sofia "
     "Europe/Tallinn Europe/Uzhgorod Europe/Vilnius Europe/Zaporozhye"},
    {120, 180, {4, 5, 5, 0}, {10, 5, 4, 1440}, "Africa/Cairo Egypt"},
    {180, 180, {0}, {0},
     "Africa/Addis_Ababa Africa/Asmara Africa/Asmera Africa/Dar_es_Salaam Africa/Djibouti "
     "Africa/Kampala Africa/Mogadishu Africa/Nairobi Antarctica/Syowa Asia/Aden Asia/Amman "
     "Asia/Baghdad Asia/Bahrain Asia/Damascus Asia/Istanbul Asia/Kuwait Asia/Qatar "
     "Asia/Riyadh Etc/GMT-3 Europe/Istanbul Europe/Kirov Europe/Minsk Europe/Moscow "
     "Europe/Simferopol Europe/Volgograd Indian/Antananarivo Indian/Comoro Indian/Mayotte "
     "Turkey W-SU"},
    {210, 210, {0}, {0}, "Asia/Tehran Iran"},
    {240, 240, {0}, {0},
     "Asia/Baku Asia/Dubai Asia/Muscat Asia/Tbilisi Asia/Yerevan Etc/GMT-4 Europe/Astrakhan "
     "Europe/Samara Europe/Saratov Europe/Ulyanovsk Indian/Mahe Indian/Mauritius "
     "Indian/Reunion"},
    {270, 270, {0}, {0}, "Asia/Kabul"},
    {300, 300, {0}, {0},
     "Antarctica/Mawson Antarctica/Vostok Asia/Almaty Asia/Aqtau Asia/Aqtobe Asia/Ashgabat "
     "Asia/Ashkhabad Asia/Atyrau Asia/Dushanbe Asia/Karachi Asia/Oral Asia/Qostanay "
     "Asia/Qyzylorda Asia/Samarkand Asia/Tashkent Asia/Yekaterinburg Etc/GMT-5 "
     "Indian/Kerguelen Indian/Maldives"},
    {330, 330, {0}, {0}, "Asia/Calcutta Asia/Colombo Asia/Kolkata"},
    {345, 345, {0}, {0}, "Asia/Kathmandu Asia/Katmandu"},
    {360, 360, {0}, {0},
     "Asia/Bishkek Asia/Dacca Asia/Dhaka Asia/Kashgar Asia/Omsk Asia/Thimbu Asia/Thimphu "
     "Asia/Urumqi Etc/GMT-6 Indian/Chagos"},
    {390, 390, {0}, {0}, "Asia/Rangoon Asia/Yangon Indian/Cocos"},
    {420, 420, {0}, {0},
     "Antarctica/Davis Asia/Bangkok Asia/Barnaul Asia/Ho_Chi_Minh Asia/Hovd Asia/Jakarta "
     "Asia/Krasnoyarsk Asia/Novokuznetsk Asia/Novosibirsk Asia/Phnom_Penh Asia/Pontianak "
     "Asia/Saigon Asia/Tomsk Asia/Vientiane Etc/GMT-7 Indian/Christmas"},
    {480, 480, {0}, {0},
     "Antarctica/Casey Asia/Brunei Asia/Choibalsan Asia/Chongqing Asia/Chungking "
     "Asia/Harbin Asia/Hong_Kong Asia/Irkutsk Asia/Kuala_Lumpur Asia/Kuching Asia/Macao "
     "Asia/Macau Asia/Makassar Asia/Manila Asia/Shanghai Asia/Singapore Asia/Taipei "
     "Asia/Ujung_Pandang Asia/Ulaanbaatar Asia/Ulan_Bator Australia/Perth Australia/West "
     "Etc/GMT-8 Hongkong PRC ROC Singapore"},
    {525, 525, {0}, {0}, "Australia/Eucla"},
    {540, 540, {0}, {0},
     "Asia/Chita Asia/Dili Asia/Jayapura Asia/Khandyga Asia/Pyongyang Asia/Seoul Asia/Tokyo "
     "Asia/Yakutsk Etc/GMT-9 Japan Pacific/Palau ROK"},
    {570, 570, {0}, {0}, "Australia/Darwin Australia/North"},
    {570, 630, {10, 1, 0, 120}, {4, 1, 0, 180},
     "Australia/Adelaide Australia/Broken_Hill Australia/South Australia/Yancowinna"},
    {600, 600, {0}, {0},
     "Antarctica/DumontDUrville Asia/Ust-Nera Asia/Vladivostok Australia/Brisbane "
     "Australia/Lindeman Australia/Queensland Etc/GMT-10 Pacific/Chuuk Pacific/Guam "
     "Pacific/Port_Moresby Pacific/Saipan Pacific/Truk Pacific/Yap"},
    {600, 660, {10, 1, 0, 120}, {4, 1, 0, 180},
     "Antarctica/Macquarie Australia/ACT Australia/Canberra Australia/Currie "
     "Australia/Hobart Australia/Melbourne Australia/NSW Australia/Sydney "
     "Australia/Tasmania Australia/Victoria"},
    {630, 660, {10, 1, 0, 120}, {4, 1, 0, 120}, "Australia/LHI Australia/Lord_Howe"},
    {660, 660, {0}, {0},
     "Asia/Magadan Asia/Sakhalin Asia/Srednekolymsk Etc/GMT-11 Pacific/Bougainville "
     "Pacific/Efate Pacific/Guadalcanal Pacific/Kosrae Pacific/Noumea Pacific/Pohnpei "
     "Pacific/Ponape"},
    {660, 720, {10, 1, 0, 120}, {4, 1, 0, 180}, "Pacific/Norfolk"},
    {720, 720, {0}, {0},
     "Asia/Anadyr Asia/Kamchatka Etc/GMT-12 Kwajalein Pacific/Fiji Pacific/Funafuti "
     "Pacific/Kwajalein Pacific/Majuro Pacific/Nauru Pacific/Tarawa Pacific/Wake "
     "Pacific/Wallis"},
    {720, 780, {9, 5, 0, 120}, {4, 1, 0, 180},
     "Antarctica/McMurdo Antarctica/South_Pole NZ Pacific/Auckland"},
    {765, 825, {9, 5, 0, 165}, {4, 1, 0, 225}, "NZ-CHAT Pacific/Chatham"},
    {780, 780, {0}, {0},
     "Etc/GMT-13 Pacific/Apia Pacific/Enderbury Pacific/Fakaofo Pacific/Kanton "
     "Pacific/Tongatapu"},
    {840, 840, {0}, {0}, "Etc/GMT-14 Pacific/Kiritimati"},
};
/* clang-format on */

static gboolean
has_name(const TimeZone *self, const char *name, gsize length)
{
    for (const char *at = self->names; (at = strstr(at, name)) != NULL; at++)
        if ((at == self->names || at[-1] == ' ') && (at[length] == ' ' || at[length] == '\0'))
            return TRUE;
    return FALSE;
}

const TimeZone *
time_zone_find(const char *name)
{
    gsize length = strlen(name);

    for (unsigned i = 0; length > 0 && strchr(name, ' ') == NULL && i < G_N_ELEMENTS(zones); i++)
        if (has_name(&zones[i], name, length))
            return &zones[i];
    return NULL;
}

/* Returns: minutes from 1970 to the change in this year, by the clock in use before it */
static int64_t
change_at(const TimeZonesChange *change, GDateYear year)
{
    GDate day;

    g_date_clear(&day, 1);
    g_date_set_dmy(&day, 1, (GDateMonth)change->month, year);
    int first = (change->weekday + 7 - (int)g_date_get_weekday(&day) % 7) % 7; /* days after it */
    int last = g_date_get_days_in_month((GDateMonth)change->month, year) - 1;
    int after = first + 7 * (change->week - 1);
    int64_t days = (int64_t)g_date_get_julian(&day) - TIME_ZONE_JULIAN_1970;
    return (days + (after > last ? after - 7 : after)) * 1440 + change->minute;
}

int64_t
time_zone_offset(const TimeZone *self, int64_t at_s)
{
    GDate day;

    if (self == NULL)
        return 0;
    int64_t minutes = at_s / 60 - (at_s % 60 < 0);
    if (self->begin.month == 0)
        return self->offset * 60;
    int64_t local = minutes + self->offset;
    int64_t days = local / 1440 - (local % 1440 < 0);
    g_date_clear(&day, 1);
    g_date_set_julian(&day, (guint32)(days + TIME_ZONE_JULIAN_1970));
    GDateYear year = g_date_get_year(&day);
    int64_t begin = change_at(&self->begin, year) - self->offset;
    int64_t end = change_at(&self->end, year) - self->other;
    gboolean is_other =
        begin < end ? minutes >= begin && minutes < end : minutes >= begin || minutes < end;
    return (is_other ? self->other : self->offset) * 60;
}
