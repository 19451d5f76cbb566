package quote

import "strings"

// marked are the Latin letters with a mark, each behind the letter that it is of: in
// texts the mark may follow that letter.
func marked(mark rune) string {
	switch mark {
	case '\u0300':
		return "AÀEÈIÌOÒUÙaàeèiìoòuù"
	case '\u0301':
		return "AÁEÉIÍOÓUÚYÝaáeéiíoóuúyýCĆcćLĹlĺNŃnńRŔrŕSŚsśZŹzź"
	case '\u0302':
		return "AÂEÊIÎOÔUÛaâeêiîoôuûCĈcĉGĜgĝHĤhĥJĴjĵSŜsŝWŴwŵYŶyŷ"
	case '\u0303':
		return "AÃNÑOÕaãnñoõIĨiĩUŨuũ"
	case '\u0304':
		return "AĀaāEĒeēIĪiīOŌoōUŪuū"
	case '\u0306':
		return "AĂaăEĔeĕGĞgğIĬiĭOŎoŏUŬuŭ"
	case '\u0307':
		return "CĊcċEĖeėGĠgġIİZŻzż"
	case '\u0308':
		return "AÄEËIÏOÖUÜaäeëiïoöuüyÿYŸ"
	case '\u030a':
		return "AÅaåUŮuů"
	case '\u030b':
		return "OŐoőUŰuű"
	case '\u030c':
		return "CČcčDĎdďEĚeěLĽlľNŇnňRŘrřSŠsšTŤtťZŽzžAǍaǎIǏiǐOǑoǒUǓuǔGǦgǧKǨkǩ"
	case '\u0327':
		return "CÇcçGĢgģKĶkķLĻlļNŅnņRŖrŗSŞsşTŢtţ"
	case '\u0328':
		return "AĄaąEĘeęIĮiįUŲuųOǪoǫ"
	}
	return ""
}

// compose is the letter that a letter and a mark are together, or 0.
func compose(letter, mark rune) rune {
	if mark < '\u0300' || letter >= 0x80 {
		return 0
	}
	_, rest, ok := strings.Cut(marked(mark), string(letter))
	if !ok {
		return 0
	}
	return []rune(rest)[0]
}
